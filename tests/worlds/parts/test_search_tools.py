import pytest

pytest.importorskip("bm25s")

from handaxe.core.records import ToolCall
from handaxe.testing.make_records import make_task
from handaxe.tools.index.search_index import open_index
from handaxe.worlds.parts.search_tools import cached_index, reference_searches, search_tool

DOCUMENTS = [{"id": "a", "text": "kemi boss luta"}, {"id": "b", "text": "zuda boss kemi"}]


def test_search_tool_builds_one_index_for_equal_documents(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    find = search_tool(DOCUMENTS, world="mine", results=1, snippet=40)
    assert find("luta") == "[a] kemi boss luta"
    (made,) = (tmp_path / "mine").iterdir()
    before = made.stat().st_mtime_ns
    search_tool(DOCUMENTS, world="mine", results=2, snippet=40)
    assert [one.stat().st_mtime_ns for one in (tmp_path / "mine").iterdir()] == [before]
    search_tool(DOCUMENTS[:1], world="mine", results=1, snippet=40)
    assert len(list((tmp_path / "mine").iterdir())) == 2


def test_indexes_of_other_pages_have_other_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    long = [{"id": "a", "text": "kemi boss luta. zuda boss kemi."}]
    short, whole = cached_index(long, world="mine", chars=20), cached_index(long, world="mine")
    assert short != whole and short == cached_index(long, world="mine", chars=20)
    assert [open_index(folder).page("a", 1).text for folder in (short, whole)] == ["kemi boss luta.", long[0]["text"]]


def test_reference_searches_need_an_offered_search_tool():
    call = ToolCall("search", {"query": "x"})
    task = make_task(metadata={"gold_calls": [{"name": "search", "arguments": {"query": "x"}}]})
    assert reference_searches(task, {"tools": ["search"]}) == (call,)
    assert reference_searches(task, {"tools": []}) == ()
