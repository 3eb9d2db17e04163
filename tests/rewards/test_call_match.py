import pytest

from handaxe.errors import TaskError
from handaxe.records import ToolCall
from handaxe.rewards.call_match import call_match
from handaxe.testing.records import make_group, make_task, make_trajectory

REFERENCE = {
    "state": {"balance": 5},
    "calls": [{"name": "f", "arguments": {"x": 1, "y": 2}}, {"name": "g", "arguments": {}}],
}

WANTED = [ToolCall("f", {"x": 1}), ToolCall("f", {"x": 1}), ToolCall("g", {}), ToolCall("h", {"y": [1, 2]})]


def outcome(reward, *made, wanted=WANTED):
    task = make_task(answer=wanted)
    return reward(
        make_group(trajectories=[make_trajectory(texts=[""], calls=[m], task=task) for m in made])
    ).outcome.tolist()


def test_example():
    assert outcome(call_match(), [ToolCall("g", {}), ToolCall("f", {"x": 1})]) == [0.25]


def test_each_call_is_used_once_and_further_ones_cost_nothing():
    once = [ToolCall("f", {"x": 1})]
    assert outcome(call_match(most=1.0), once, once * 2, once * 9, WANTED[::-1]) == [0.25, 0.5, 0.5, 1]


def test_arguments_must_be_equal():
    assert outcome(call_match(most=1.0), [ToolCall("h", {"y": [2, 1]})], [ToolCall("h", {"y": [1, 2]})]) == [0, 0.25]


def test_calls_of_all_turns_count():
    task = make_task(answer=WANTED[2:])
    two = make_trajectory(texts=["", ""], calls=[[WANTED[3]], [WANTED[2]]], task=task)
    assert call_match()(make_group(trajectories=[two])).outcome.tolist() == [0.5]


def test_no_reference():
    with pytest.raises(TaskError):
        outcome(call_match(), [], wanted=[])
    with pytest.raises(TaskError):
        outcome(call_match(), [], wanted=None)
