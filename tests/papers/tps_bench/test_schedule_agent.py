import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tps_bench.schedule_agent import predecessors, schedule_agent
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from handaxe.evaluation.benchmarks.scheduling import parallel_plan, sequential_plan  # noqa: E402
from handaxe.evaluation.benchmarks.tps_bench import tps_world  # noqa: E402


@pytest.fixture(scope="module")
def world():
    return tps_world(2, 2, brief=True)


@pytest.fixture(scope="module")
def task(world):
    return world.tasks("test", 1, 3)[0]


def play(world, task, width, waits=True):
    agent = schedule_agent(width=width, waits=waits)
    one = demonstrate(world.env(world.tools), task, agent, format=Compact(), max_turns=12)
    figures = {name: world.gauges[name].top(one, 0.0) for name in ("elapsed", "call_turns")}
    done = sum(one.env["box"]["made"]) / len(one.env["box"]["made"])
    return one, figures, done, world.correct(Group(task, (one,))).outcome[0]


@pytest.mark.parametrize("width, turns", [(1, 8), (2, 5), (None, 3)])
def test_waiting_agents_complete_every_subtask(world, task, width, turns):
    one, figures, done, solved = play(world, task, width)
    assert figures["call_turns"] == turns and done == solved == 1.0
    assert sorted(call.name for call in one.calls) == ["call_tool"] * 4 + ["find_tools"] * 4


def test_schedules_equal_the_plans_of_the_benchmark(world, task):
    steps, chains = task.metadata["steps"], task.metadata["chains"]
    for width, plan in ((1, sequential_plan(steps)), (None, parallel_plan(steps, chains))):
        _, figures, _, _ = play(world, task, width)
        assert (figures["call_turns"], figures["elapsed"]) == (plan.turns, plan.elapsed)


def test_a_reckless_agent_fails_every_dependent_subtask(world, task):
    one, figures, done, solved = play(world, task, None, waits=False)
    assert one.env["box"]["made"] == [True, False, True, False]
    assert (figures["call_turns"], done, solved) == (2.0, 0.5, 0.0)


def testpredecessors_stay_within_a_chain():
    assert predecessors([2, 1]) == [None, 0, None]
    assert predecessors([1, 3, 2]) == [None, None, 1, 2, None, 4] and predecessors([]) == []


def test_width_below_one_raises():
    with pytest.raises(InputError, match="give 1 call a turn"):
        schedule_agent(width=0)
