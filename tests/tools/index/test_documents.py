import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.tools.index.documents import Document, read_documents, split_passages


def test_documents_and_passages_give_the_examples():
    assert read_documents([{"id": "b", "text": "two"}, {"id": "a", "text": "one"}])[0] == Document("a", "a", "one")
    pages = split_passages(Document("a", "a", "One two three. Four five."), chars=20)
    assert [page.text for page in pages] == ["One two three.", "Four five."]
    assert [(page.id, page.page, page.pages) for page in pages] == [("a", 1, 2), ("a", 2, 2)]


def test_folder_of_files_is_read(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "b.md").write_text("# B")
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "c.png").write_bytes(b"\xff")
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    assert read_documents(tmp_path) == [Document("a.txt", "a", "one"), Document("deep/er/b.md", "b", "# B")]
    (tmp_path / "bad.txt").write_bytes(b"ok\xff")
    with pytest.raises(InputError, match=r"bad.txt is not UTF-8 \(byte 2\)"):
        read_documents(str(tmp_path))


def test_jsonl_file_is_read(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": 7, "title": " A\\n title ", "text": "x\u2028y"}\n\n{"text": "z"}\n')
    assert read_documents(path) == [Document("3", "3", "z"), Document("7", "A title", "x\u2028y")]
    for line, said in {
        "{": "line 1 is not JSON",
        "[1]": "line 1 is not an object with a text",
        '{"id": "a"}': "is not an object with a text",
        '{"id": "a", "text": " "}': "has no text",
        '{"id": "a\\nb", "text": "x"}': "an id is one line",
        '{"id": true, "text": "x"}': "an id is one line",
        '{"id": " a", "text": "x"}': "an id is one line",
        '{"title": 3, "text": "x"}': "which is not text",
        "[" * 100_000: "is not JSON",
    }.items():
        path.write_text(line)
        with pytest.raises(InputError, match=said):
            read_documents(path)


def test_missing_documents_raise(tmp_path):
    for source in (tmp_path / "none", tmp_path, []):
        with pytest.raises(InputError, match="there are no documents"):
            read_documents(source)
    with pytest.raises(InputError, match="'a' is used by document 1 and by document 2"):
        read_documents([Document("a", "", "x"), Document("a", "", "y")])


def test_cuts_prefer_larger_units():
    for text, first in {
        "aaaa bbbb cccc\n\ndddd. eeee\nffff": "aaaa bbbb cccc",
        "aaaa bbbb cccc\ndddd. eeee ffff": "aaaa bbbb cccc",
        "aaaa bbbb ccc. dddd eeee": "aaaa bbbb ccc.",
        "aaaa bbbb cccc dddd eeee": "aaaa bbbb cccc dddd",
        "a" * 30: "a" * 20,
    }.items():
        assert split_passages(Document("a", "a", text), chars=20)[0].text == first
    with pytest.raises(InputError, match="20 or more"):
        split_passages(Document("a", "a", "x"), chars=19)


@given(st.text(alphabet="ab .\n", min_size=1), st.integers(20, 60))
def test_passages_join_to_the_text(text, chars):
    pages = split_passages(Document("a", "a", text), chars=chars)
    assert all(len(page.text) <= chars for page in pages)
    assert "".join("".join(page.text.split()) for page in pages) == "".join(text.split())
    assert [page.page for page in pages] == list(range(1, len(pages) + 1))
    assert json.loads(json.dumps(pages)) == [list(page) for page in pages]
