from dataclasses import replace
from functools import partial

import pytest

from handaxe.core.errors import TaskError
from handaxe.core.records import ToolCall
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.artist.call_match import call_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.bfcl.world import bfcl

LAB = [
    LabCase(
        "call_match(...)",
        partial(bfcl, category=("short",)),
        lambda world: call_match(gold=world.need("reference")),
        why=("Only reference calls count; further calls cost nothing. Add a price on calls, or use `graded_call`."),
    ),
]


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


def test_call_match_matches_its_example():
    assert outcome(call_match(), [ToolCall("g", {}), ToolCall("f", {"x": 1})]) == [0.25]


def test_each_call_matches_once_and_further_calls_cost_nothing():
    once = [ToolCall("f", {"x": 1})]
    assert outcome(call_match(most=1.0), once, once * 2, once * 9, WANTED[::-1]) == [0.25, 0.5, 0.5, 1]


def test_arguments_must_be_equal():
    assert outcome(call_match(most=1.0), [ToolCall("h", {"y": [2, 1]})], [ToolCall("h", {"y": [1, 2]})]) == [0, 0.25]


def test_calls_of_all_turns_count():
    task = make_task(answer=WANTED[2:])
    two = make_trajectory(texts=["", ""], calls=[[WANTED[3]], [WANTED[2]]], task=task)
    assert call_match()(make_group(trajectories=[two])).outcome.tolist() == [0.5]


def test_a_call_matches_only_in_its_own_user_turn():
    parts = [[ToolCall("f", {"x": 1})], [ToolCall("g", {})]]
    task = make_task(answer=WANTED)
    made = make_trajectory(texts=["", "", ""], calls=[[parts[0][0], parts[1][0]], [], [parts[0][0]]], task=task)
    reward = call_match(by_turn=lambda task: parts)

    def scored(*numbers):
        told = [{} if number is None else {"user_turn": number} for number in numbers]
        turns = tuple(replace(turn, facts=facts) for turn, facts in zip(made.turns, told))
        return reward(make_group(trajectories=[replace(made, turns=turns)])).outcome.tolist()

    assert scored(0, 0, 1) == [0.25], "the example: f of turn 0, and g was called a turn too early"
    assert scored(1, 1, 0) == [0.5]
    assert scored(None, None, None) == [0.0]
    with pytest.raises(TaskError, match="has no reference call"):
        call_match(by_turn=lambda task: [[], []])(make_group(trajectories=[made]))


def test_a_task_without_reference_calls_is_rejected():
    with pytest.raises(TaskError):
        outcome(call_match(), [], wanted=[])
    with pytest.raises(TaskError):
        outcome(call_match(), [], wanted=None)
