import pytest

pytest.importorskip("bm25s")

from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tapo.arithmetic_and_facts import arithmetic_and_facts
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def test_arithmetic_and_facts_keeps_the_world_contract():
    check_world(arithmetic_and_facts(size=16), count=12)


def test_every_third_question_is_a_fact_and_each_kind_uses_its_tool():
    world = arithmetic_and_facts(size=16)
    tasks = world.tasks("train", 30, 0)
    assert [task.metadata["kind"] == "fact" for task in tasks] == [number % 3 == 0 for number in range(30)]
    assert {task.metadata["kind"] for task in tasks} == {"easy", "hard", "fact"}
    wanted = {"easy": [], "hard": ["calculator"], "fact": ["search"]}
    for task in tasks[:9]:
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        assert [call.name for call in one.calls] == wanted[task.metadata["kind"]]
        assert {tool.name for tool in one.tools} == {"calculator", "search"}
