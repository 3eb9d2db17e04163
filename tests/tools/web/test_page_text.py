import codecs
import gzip
import json

import pytest

from handaxe.tools.web.page_text import CODECS, html_to_text, page_text


def test_page_text_gives_the_examples():
    assert page_text(b'{"a": [1]}', "application/json") == '{\n "a": [\n  1\n ]\n}'
    assert html_to_text("<title>T</title><p>a <a href='/b'>b</a><script>x</script>") == "T\na [b](/b)"


def test_blocks_lists_and_tables_are_laid_out():
    html = "<ul><li>one<li>two &amp; three</ul><table><tr><th>a<th>b<tr><td>1<td>2</table><style>p{}</style>x<br>y"
    assert html_to_text(html) == "- one\n- two & three\na | b\n1 | 2\nx\ny"


def test_links_are_absolute():
    html = "<a href='#x'>here</a> <a>bare</a> <a href='javascript:a()'>js</a> <a href='u'>open"
    assert html_to_text(html, link="http://a/".__add__) == "here bare js [open"
    html = "<a href='u'>one<a href='v'>two</a>"
    assert html_to_text(html, link="http://a/".__add__) == "[one](http://a/u)[two](http://a/v)"

    def refuse(text):
        raise ValueError(text)

    assert html_to_text("<a href='http://[x'>t</a>", link=refuse) == "[t](http://[x)"


def test_broken_html_is_read():
    assert html_to_text("a <b>c <i d") == "a c"
    assert html_to_text("a<!-- b") == "a" and html_to_text("a<script>b") == "a"
    assert html_to_text("a &lt; b &nosuch; c") == "a < b &nosuch; c"
    assert html_to_text("") == "" and html_to_text("plain") == "plain"


def test_many_unfinished_tags_are_read_in_linear_time():
    """A parser that looks back at each would take minutes for any of these."""
    for part in ("<!--", "<a ", "</", "<![CDATA[", "<script>", "&#", "<a b='", "<p>" * 2, "<!x", "<?"):
        assert isinstance(html_to_text(part * (500_000 // len(part))), str)


def test_charsets_are_decoded():
    assert page_text("\u00e9".encode("latin-1"), "text/plain; charset=ISO-8859-1") == "\u00e9"
    assert page_text("\u00e9".encode(), "text/plain") == "\u00e9"
    assert page_text(b"\xff", "text/plain; charset=nonsense") == "\ufffd"
    assert page_text(b"abc", 'text/plain; charset="hex"') == "abc"
    assert page_text(b"+AGE-", "text/plain; charset=utf-7") == "+AGE-"


def test_unknown_charset_is_ignored():
    """As punycode, the next to last one would take minutes."""
    body = b"b" * 490_000
    for name in ("idna", "raw_unicode_escape", "zip", "punycode", "utf-8"):
        assert page_text(body, f"text/plain; charset={name}") == body.decode()


@pytest.mark.parametrize("name", sorted(CODECS))
def test_every_listed_codec_decodes_any_bytes(name):
    assert codecs.lookup(name).name == name
    assert isinstance(page_text(bytes(range(256)) * 400, f"text/plain; charset={name}"), str)


def test_content_types_decide_the_format():
    assert page_text(b"<a/>", "application/rss+xml") == "<a/>"
    assert page_text(b'{"a":1}', "application/problem+json; x=y") == '{\n "a": 1\n}'
    assert page_text(b"not json", "application/json") == "not json"
    for kind in ("image/png", "application/pdf", "application/octet-stream", "application/zip"):
        assert page_text(b"abc", kind) is None
    assert page_text(b"plain\n", "") == "plain\n"
    assert page_text(b"a\x00b", "") is None and page_text(gzip.compress(b"a"), "") is None
    assert page_text("\u00e9".encode()[:1], "") is None and page_text("\u00e9".encode()[:1], "", cut=True) == ""


def test_deep_json_is_not_laid_out():
    """Laid out, its indentation would be a hundred times its size."""
    deep = "[" * 100 + ",".join("1" * 100) + "]" * 100
    assert page_text(deep.encode(), "application/json") == deep
    worse = "[" * 100_000
    assert page_text(worse.encode(), "application/json") == worse
    flat = json.dumps(list(range(3)))
    assert page_text(flat.encode(), "application/json") == "[\n 0,\n 1,\n 2\n]"
