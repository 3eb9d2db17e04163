"""Conversion of HTTP bodies to text for a small model."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

from handaxe.ops.nested_values import exceeds_depth

__all__ = ["html_to_text", "page_text"]

HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object"})
BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figure", "footer", "form", "h1", "h2",
     "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "title", "tr",
     "ul"}
)  # fmt: skip
CODECS = frozenset(
    {"utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "ascii", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic",
     "cp866", "cp874", "cp932", "cp949", "gb2312", "gbk", "gb18030", "big5", "big5hkscs", "euc_jp", "euc_kr",
     "iso2022_jp", "shift_jis"}
    | {f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))} | {f"cp{page}" for page in range(1250, 1259)}
)  # fmt: skip
"""Python's names of the encodings of web pages (https://encoding.spec.whatwg.org). Other codecs are ignored: punycode
takes quadratic time, and "hex" or "zip" are no text.
"""
MAX_DEPTH = 20
"""Nesting of JSON that is laid out; for deeper JSON the indentation would exceed the content."""


def page_text(body: bytes, content_type: str, *, link: Callable[[str], str] = str, cut: bool = False) -> str | None:
    """Convert a body to text, or return None if it is no text.

    HTML is reduced to its words, JSON laid out with an indentation of one, other text unchanged. A body without content
    type is text if it is UTF-8 without control characters.

    Args:
        body: bytes, at most a few megabytes.
        content_type: the header, such as "text/html; charset=utf-8", or "".
        link: makes a link absolute.
        cut: the body is incomplete, so its last character may be incomplete.

    Example:
        page_text(b'{"a": [1]}', "application/json") is '{\\n "a": [\\n  1\\n ]\\n}'
    """
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    text = _decode(body, parameters)
    if kind in ("text/html", "application/xhtml+xml"):
        return html_to_text(text, link=link)
    if kind == "application/json" or kind.endswith("+json"):
        return _layout(text)
    if kind.startswith("text/") or kind.endswith("+xml") or kind in ("application/xml", "application/javascript"):
        return text
    if kind:
        return None
    try:
        plain = codecs.getincrementaldecoder("utf-8")().decode(body, final=not cut)
    except UnicodeDecodeError:
        return None
    return None if re.search(r"[\x00-\x08\x0e-\x1f]", plain) else plain


def html_to_text(html: str, *, link: Callable[[str], str] = str) -> str:
    """Extract the words of a page: blocks on separate lines, list items after "- ", links as [words](address).

    Scripts, styles, form fields and elements that are invisible by type are skipped; styling is ignored. Open elements
    are closed at the end of the text; an unfinished tag is dropped.

    Example:
        html_to_text("<title>T</title><p>a <a href='/b'>b</a><script>x</script>") is "T\\na [b](/b)".
    """
    reader = _Reader(link)
    reader.feed(html)
    # Not close(): at the end of the text the parser rescans every unfinished tag, in quadratic time.
    if not reader.rawdata.startswith("<"):
        reader.handle_data(reader.rawdata)
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(line for line in lines if line and line != "-")


class _Reader(HTMLParser):
    def __init__(self, link: Callable[[str], str]):
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.link = link
        self.hidden = ""
        self.href = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.hidden:
            return
        if tag in HIDDEN:
            self.hidden = tag
        elif tag in BLOCKS:
            self.parts.append("\n- " if tag == "li" else "\n")
        elif tag in ("td", "th"):
            self.parts.append(" | " if self.parts and not self.parts[-1].endswith("\n") else "")
        elif tag == "a":
            self._end_link()
            href = (dict(attrs).get("href") or "").strip()
            if href and not href.startswith(("#", "javascript:", "data:", "mailto:")):
                self.href = href
                self.parts.append("[")

    def handle_endtag(self, tag: str) -> None:
        if tag == self.hidden:
            self.hidden = ""
        elif self.hidden:
            return
        elif tag in BLOCKS:
            self.parts.append("\n")
        elif tag == "a":
            self._end_link()

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data.replace("\n", " "))

    def _end_link(self) -> None:
        if self.href:
            try:
                target = self.link(self.href)
            except ValueError:  # urljoin refuses some addresses
                target = self.href
            self.parts.append(f"]({target})")
            self.href = ""


def _decode(body: bytes, parameters: str) -> str:
    named = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", parameters, re.IGNORECASE)
    try:
        codec = codecs.lookup(named.group(1) if named else "utf-8").name
    except (LookupError, ValueError):
        codec = ""
    return body.decode(codec if codec in CODECS else "utf-8", errors="replace")


def _layout(text: str) -> str:
    try:
        value = json.loads(text)
        return text if exceeds_depth(value, MAX_DEPTH) else json.dumps(value, indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
