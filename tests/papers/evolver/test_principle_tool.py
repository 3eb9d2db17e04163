import pytest
from helpers.embed_words import embed_words

from handaxe.core.errors import InputError
from handaxe.papers.evolver.principle_store import PrincipleStore
from handaxe.papers.evolver.principle_tool import PrincipleMemory, PrincipleSearch, memory_of
from handaxe.papers.evolver.principled_hops import principled_hops
from handaxe.worlds.arithmetic import arithmetic


def store(*texts):
    made = PrincipleStore(embed_words)
    for text in texts:
        made.offer(text, success=True, trajectory="t")
    return made


def test_a_search_matches_the_docstring_examples():
    assert PrincipleSearch(lambda query: [("+ 0000 K: boss", "+ K: boss")]).principles("K:") == "+ 0000 K: boss"
    assert PrincipleMemory(store("+ K: boss ally"))().principles("K:") == "+ 0000 K: boss ally"


def test_the_nearest_principle_is_the_last_line_and_all_are_reported():
    memory = PrincipleMemory(store("+ KKKK: boss", "+ ZZZZ: ally", "- QQQQ: idol"), shown=2)
    one = memory()
    assert one.principles("ZZZZ:").split("\n")[-1] == "+ 0000 ZZZZ: ally"
    assert len(one.report()["used"]) == 2 and one.report()["used"][-1] == "+ ZZZZ: ally"
    one.principles("ZZZZ:")
    assert len(one.report()["used"]) == 2


def test_an_empty_memory_replies_none_and_reports_nothing():
    one = PrincipleMemory(store())()
    assert one.principles("K:") == "none" and one.report() == {"used": []}


def test_rollouts_share_the_store_and_nothing_else():
    memory = PrincipleMemory(store("+ K: boss"))
    first, second = memory(), memory()
    first.principles("K:")
    saved = first.snapshot()
    assert second.report() == {"used": []}
    second.restore(saved)
    memory.store.offer("+ Z: ally", success=True, trajectory="t")
    second.principles("Z:")
    assert first.report() == {"used": ["+ K: boss"]} and set(second.report()["used"]) == {"+ K: boss", "+ Z: ally"}


def test_a_world_without_memory_is_named():
    pytest.importorskip("bm25s")
    assert isinstance(memory_of(principled_hops()), PrincipleMemory)
    with pytest.raises(InputError, match="world 'arithmetic' has no memory"):
        memory_of(arithmetic())
