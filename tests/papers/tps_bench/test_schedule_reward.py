from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Group
from handaxe.evaluation.attack_trials import LabCase
from handaxe.evaluation.benchmarks.scheduling import SEARCH_SECONDS, function_seconds
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tps_bench.compound_tools import compound_tools
from handaxe.papers.tps_bench.schedule_agent import schedule_agent
from handaxe.papers.tps_bench.schedule_reward import schedule_reward
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")


def of(name):
    """Metric that reads its value from the state of the environment."""
    return RatioMetric(lambda one, _: one.env[name][0], lambda one, _: one.env[name][1])


WORLD = compound_tools()
RATIOS = replace(WORLD, gauges={"progress": of("progress"), "elapsed": of("elapsed")})


CONTRACT = []
LAB = [
    LabCase("schedule_reward(price=0.25)", compound_tools, lambda world: schedule_reward(world=world)),
]


def function_of(seconds):
    """A function name of this many simulated seconds."""
    return next(name for name in map(str, range(100)) if function_seconds(name) == seconds)


def test_rewards_equal_the_worked_example():
    task = make_task(metadata={"steps": [{"function": function_of(seconds)} for seconds in (3, 2, 1)]})
    played = [
        make_trajectory(texts=["x"], task=task, env={"progress": [done, 3], "elapsed": [time, 1]})
        for done, time in ((3, 6), (3, 4), (2, 3), (0, 0))
    ]
    scores = schedule_reward(world=RATIOS)(make_group(trajectories=played, task=task))
    assert scores.outcome == pytest.approx([0.75, 0.833333, 0.541667, 0], abs=1e-6)
    assert scores.channels["completed"] == pytest.approx([1, 1, 2 / 3, 0])
    assert scores.channels["time"] == pytest.approx([1, 4 / 6, 0.5, 0])


def test_rewards_equal_a_slow_loop_over_turns_of_real_rollouts():
    world = compound_tools()
    task = world.tasks("train", 1, 5)[0]
    agents = [schedule_agent(width=1), schedule_agent(), schedule_agent(waits=False)]
    played = [demonstrate(world.env(world.tools), task, one, format=Compact(), max_turns=12) for one in agents]
    by_tool = {step["name"]: function_seconds(step["function"]) for step in task.metadata["steps"]}
    whole = sum(by_tool.values())
    expected = []
    for one, completed in zip(played, (1.0, 1.0, 0.5)):
        time = 0
        for turn in one.turns:
            longest = 0
            for call in turn.parsed.calls:
                longest = max(longest, by_tool.get(call.arguments.get("name"), SEARCH_SECONDS))
            time += longest
        expected.append(completed - 0.4 * time / whole)
    assert schedule_reward(world=world, price=0.4)(Group(task, tuple(played))).outcome == pytest.approx(
        expected, abs=1e-9
    )
    assert expected[1] > expected[0] > expected[2]


def test_a_negative_price_is_refused():
    with pytest.raises(InputError, match="price is -1"):
        schedule_reward(world=WORLD, price=-1)
