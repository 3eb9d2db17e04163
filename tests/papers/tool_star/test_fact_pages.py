import pytest

pytest.importorskip("bm25s")

from handaxe.core.errors import InputError, Retry
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tool_star.fact_pages import browser, fact_pages, pages_of
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.people_facts import People

PAGES = pages_of(People({("417", "age"): 33, ("417", "desk"): 52, ("417", "rank"): 7}, (("417",), ())))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def test_fact_pages_keeps_the_world_contract():
    check_world(fact_pages(size=16), count=12)


def test_the_browser_returns_the_sentence_that_fits_best():
    browse = browser(PAGES).function
    assert PAGES == {"417": ["the age of 417 is 33", "417 sits at desk 52", "417 holds rank 7"]}
    assert browse("417", "desk") == "417 sits at desk 52" and browse(" 417 ", "which Rank") == "417 holds rank 7"
    assert browse("417", "417") == "the age of 417 is 33", "of equal sentences the first"
    with pytest.raises(Retry, match="no such page"):
        browse("418", "desk")
    with pytest.raises(Retry, match="ask for age, desk, rank"):
        browse("417", "hall")


def test_a_search_shows_no_fact_and_the_expert_uses_the_tools_in_order():
    world = fact_pages(size=16)
    seen = set()
    for task in world.tasks("train", 30, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), max_turns=5)
        search, browse, *_ = one.replies
        name, asked = task.messages[0].content.split()
        assert search.content == f"[{name}] page of {name}"
        assert one.calls[1].arguments == {"page": name, "want": asked.strip("?").partition("*")[0]}
        assert browse.content.startswith(("the age", name)) and one.final_text == task.answer
        assert world.gauges["browsed"].top(one, 1.0) == 1.0
        seen.add(tuple(reply.name for reply in one.replies))
        gold = [call["name"] for call in task.metadata["gold_calls"]]
        assert [reply.name for reply in one.replies][: len(gold)] == gold
    assert {("search", "browse"), ("search", "browse", "calculator")} <= seen


def test_wrong_input():
    with pytest.raises(InputError, match="8 to 900"):
        fact_pages(size=2)
