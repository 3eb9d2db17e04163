import pytest

pytest.importorskip("bm25s")

from handaxe.core.records import ParsedTurn, Sampling, ToolCall, Turn
from handaxe.testing.records import make_task
from handaxe.worlds.parts.search_tools import answers_in_words, gold_searches, search_tool

DOCUMENTS = [{"id": "a", "text": "kemi boss luta"}, {"id": "b", "text": "zuda boss kemi"}]


def test_the_index_is_made_once_for_the_same_documents(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    find = search_tool(DOCUMENTS, world="mine", results=1, snippet=40)
    assert find("luta") == "[a] kemi boss luta"
    (made,) = (tmp_path / "mine").iterdir()
    before = made.stat().st_mtime_ns
    search_tool(DOCUMENTS, world="mine", results=2, snippet=40)
    assert [one.stat().st_mtime_ns for one in (tmp_path / "mine").iterdir()] == [before]
    search_tool(DOCUMENTS[:1], world="mine", results=1, snippet=40)
    assert len(list((tmp_path / "mine").iterdir())) == 2


def test_what_is_an_answer_and_what_is_called():
    call = ToolCall("search", {"query": "x"})
    for parsed, found in ((ParsedTurn("luta"), True), (ParsedTurn(" "), False), (ParsedTurn("hm", (call,)), False)):
        assert answers_in_words(Turn(0, 0, 1, parsed, "stop", Sampling(), 0)) is found
    task = make_task(metadata={"gold_calls": [{"name": "search", "arguments": {"query": "x"}}]})
    assert gold_searches(task, {"tools": ["search"]}) == (call,) and gold_searches(task, {"tools": []}) == ()
