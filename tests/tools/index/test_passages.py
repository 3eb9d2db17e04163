import pytest

from handaxe.core.errors import InputError
from handaxe.tools.index.documents import Passage
from handaxe.tools.index.passages import Passages, write_passages

MADE = [
    Passage("a", "A", 1, 2, "one\ntwo"),
    Passage("a", "A", 2, 2, "three \u00e9\u2028"),
    Passage("a/b", "", 1, 1, "x"),
    Passage("c", "C", 1, 1, ""),
]


def test_passages_round_trip(tmp_path):
    write_passages(MADE, tmp_path)
    read = Passages(tmp_path)
    assert len(read) == 4 and [read[i] for i in range(4)] == MADE
    for number in (-1, 4):
        with pytest.raises(IndexError):
            read[number]


def test_find_matches_whole_ids(tmp_path):
    write_passages(MADE, tmp_path)
    read = Passages(tmp_path)
    assert [read.find(key) for key in ("a", "a/b", "c")] == [0, 2, 3]
    for key in ("", "b", "A", "d", "../a", "a/", str(tmp_path / "passages.jsonl"), "a\x00"):
        assert read.find(key) is None


def test_unsorted_passages_raise(tmp_path):
    for passages in ([], MADE[::-1], [MADE[1], MADE[0]]):
        with pytest.raises(InputError, match="sorted by id and page"):
            write_passages(passages, tmp_path)
