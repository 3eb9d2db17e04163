import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tps_bench.compound_tools import compound_tools
from handaxe.testing import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")


def calls_of_turns(world):
    task = world.tasks("train", 1, 0)[0]
    one = demonstrate(world.env(world.tools), task, world.expert, format=Compact(), max_turns=12)
    return [len(turn.parsed.calls) for turn in one.turns], world.correct(Group(task, (one,))).outcome[0]


def test_compound_tools_keep_the_world_contract():
    check_world(compound_tools(), count=8)


@pytest.mark.parametrize(
    "serial, reckless, turns, correct",
    [(1.0, 0.0, [1] * 4 + [0], 1), (0.0, 0.0, [2, 2, 0], 1), (0.0, 1.0, [4, 0], 0)],
)
def test_demonstrations_have_three_schedules(serial, reckless, turns, correct):
    assert calls_of_turns(compound_tools(serial=serial, reckless=reckless)) == (turns, correct)


def test_shares_of_schedules_are_those_of_the_options():
    world = compound_tools(serial=0.5, reckless=0.25)
    facts = {"turn": 0, "tools": ["find_tools", "call_tool"]}
    tasks = world.tasks("train", 200, 0)
    widths = [len(world.expert(task, facts).calls) for task in tasks]
    assert 80 <= widths.count(1) <= 120 and 35 <= widths.count(4) <= 65 and set(widths) == {1, 2, 4}


def test_requests_name_the_tools():
    task = compound_tools().tasks("train", 1, 0)[0]
    text = task.messages[-1].content
    assert all(step["name"] in text and step["query"] not in text for step in task.metadata["steps"])


def test_shares_and_sizes_out_of_range_are_refused():
    with pytest.raises(InputError, match="together at most 1"):
        compound_tools(serial=0.7, reckless=0.5)
    with pytest.raises(InputError, match="1 to 4 chains"):
        compound_tools(chains=5)
    with pytest.raises(InputError, match="of 1 or 2 subtasks"):
        compound_tools(length=3)
