import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.tiger.reply_match import reply_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.spatial.world import spatial

CONTRACT = [{"tools": ("f", "g")}, {"tools": ("f", "g"), "rel_tol": 0.5}]
LAB = [
    LabCase(
        'reply_match(tools=("depth", "calculator"))',
        lambda: spatial(kinds=("depth", "x")),
        lambda world: reply_match(tools=("depth", "calculator"), rel_tol=0.01),
    ),
]


def attempt(task, *replies):
    """A turn for each (tool, content, status)."""
    made = [[ToolReply(f"{k}-0", name, content, status)] for k, (name, content, status) in enumerate(replies)]
    calls = [[name] for name, _, _ in replies]
    return make_trajectory(texts=[""] * len(made) + ["4"], calls=[*calls, []], replies=[*made, []], task=task)


def scored(gold, *attempts, tools=("calculator",), **options):
    task = make_task(answer=gold)
    group = make_group(task=task, trajectories=[attempt(task, *one) for one in attempts])
    return reply_match(tools=tools, **options)(group).outcome.tolist()


def ok(content, name="calculator"):
    return name, content, "ok"


def test_reply_match_equals_the_worked_examples():
    near = [ok("130.0"), ("calculator", "132", "failed")]
    assert scored("132", [ok("132")], [ok("131")], near, []) == [1, 0, 0, 0]
    assert scored("132", [ok("132")], [ok("131")], near, [], rel_tol=0.01) == [1, 1, 0, 0]


def test_the_last_successful_reply_of_the_tools_counts():
    other, failed = ok("132", "search"), ("calculator", "132", "failed")
    attempts = [ok("1"), ok("132")], [ok("132"), ok("1")], [ok("132"), failed], [failed], [other], [ok("132"), other]
    assert scored("132", *attempts) == [1, 0, 1, 0, 0, 1]
    assert scored("132", [ok("1"), ok("132", "python")], tools=("calculator", "python")) == [1]


def test_text_and_numbers_are_compared():
    assert scored("luta", [ok(" luta\n")], [ok("Luta")], rel_tol=0.1) == [1, 0]
    assert scored(["a", "2"], [ok("2.0")], [ok("a")], rel_tol=0.0) == [1, 1]
    huge = [ok(text) for text in ("nan", "inf", "1" * 5000, "1e999")]
    assert scored("132", *[[one] for one in huge], rel_tol=0.5) == [0] * 4
    assert scored("-100", [ok("-101")], [ok("-102")], rel_tol=0.01) == [1, 0]


def test_reply_match_refuses_bad_arguments():
    for options in ({"tools": ()}, {"tools": "calculator"}, {"tools": ("f",), "rel_tol": -1.0}):
        with pytest.raises(InputError, match="names of tools"):
            reply_match(**options)
    with pytest.raises(TaskError):
        scored(None, [ok("1")])
