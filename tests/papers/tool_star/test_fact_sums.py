import pytest

pytest.importorskip("bm25s")

from handaxe.core.records import Message
from handaxe.models.compact import Compact
from handaxe.papers.tool_star.fact_sums import SHOWN, fact_sums
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))


def test_the_contract():
    check_world(fact_sums(size=16), count=12)


def test_hard_ones_take_both_tools_and_easy_ones_are_shown_with_both_once_in_a_while():
    world = fact_sums(size=16)
    used, gauge = {"yes": [], "no": []}, world.gauges["used_both"]
    for task in world.tasks("train", 60, 0):
        one = demonstrate(world.env(world.tools), task, world.expert, format=Compact())
        used[task.metadata["needs_both"]].append(gauge.top(one, 1.0))
        assert one.calls[0].arguments == task.metadata["gold_calls"][0]["arguments"]
    assert set(used["yes"]) == {1.0}
    assert 0 < sum(used["no"]) / len(used["no"]) < 2.5 / SHOWN


def test_what_a_question_asks_is_what_its_answer_says():
    for task in fact_sums(size=16).tasks("test", 30, 0):
        left, sign, right = task.metadata["expression"].partition("*")
        assert bool(sign) == (task.metadata["needs_both"] == "yes")
        assert int(task.answer) == int(left) * int(right or 1)
        assert task.messages[0].content.endswith(f"{sign}{right}?") and left not in task.messages[0].content.split()


def test_a_call_that_failed_is_no_use_of_a_tool():
    world = fact_sums(size=16)
    task = next(one for one in world.tasks("train", 9, 0) if one.metadata["needs_both"] == "yes")
    broken = task.metadata["expression"] + "*"

    def clumsy(task, facts):
        said = world.expert(task, facts)
        if facts["turn"] == 1:
            (call,) = said.calls
            return Message("assistant", "", (type(call)(call.name, {"expression": broken}),))
        return said

    one = demonstrate(world.env(world.tools), task, clumsy, format=Compact())
    assert len(one.calls) == 2 and world.gauges["used_both"].top(one, 0.0) == 0


def test_the_expert_calculates_in_whatever_order_tools_are_offered():
    world = fact_sums(size=16)
    task = next(one for one in world.tasks("train", 9, 0) if one.metadata["needs_both"] == "yes")
    one = demonstrate(world.env(world.tools[::-1]), task, world.expert, format=Compact())
    assert [call.name for call in one.calls] == ["search", "calculator"]
