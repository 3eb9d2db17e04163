from functools import partial

import pytest

from handaxe import rewards
from handaxe.core.errors import TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.artist.call_match import call_match
from handaxe.rewards.state_match import state_match
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.bfcl.world import bfcl, equal_state, full_state

LAB = [
    LabCase(
        "state_match(...)",
        partial(bfcl, category=("short",)),
        lambda world: state_match(gold=full_state, state=equal_state),
    ),
]


REFERENCE = {
    "state": {"balance": 5},
    "calls": [{"name": "f", "arguments": {"x": 1, "y": 2}}, {"name": "g", "arguments": {}}],
}

GOLD = {"a": 1, "b": [2], "c": None, "d": "x"}
TASK = make_task(
    answer={"state": GOLD, "calls": [{"name": n, "arguments": {}} for n in "fghk"]},
)


def outcome(reward, *states):
    return reward(make_group(trajectories=[make_trajectory(task=TASK, env=s) for s in states])).outcome.tolist()


def test_state_match_matches_the_docstring_example():
    assert outcome(state_match(), {**GOLD, "d": "y"}, GOLD, {}) == [0.375, 0.5, 0]


def test_a_missing_attribute_does_not_equal_none():
    assert outcome(state_match(max_score=1.0), {"a": 1, "b": [2], "d": "x"}) == [0.75]


def test_attributes_without_a_reference_are_ignored():
    assert outcome(state_match(max_score=1.0), {**GOLD, "z": 9}) == [1]


def test_state_is_read_by_the_given_function():
    assert outcome(state_match(state=lambda trajectory: trajectory.env["bank"]), {"bank": GOLD}) == [0.5]


def test_with_call_match_it_equals_the_papers_sum():
    trajectory = make_trajectory(
        texts=[""], calls=[["f", "g", "x"]], replies=[["", "", ""]], task=TASK, env={**GOLD, "d": "y"}
    )
    reward = rewards.weighted({"state": (1.0, state_match()), "function": (1.0, call_match())})
    assert reward(make_group(trajectories=[trajectory])).outcome.tolist() == [0.625]


def test_a_task_without_wanted_attributes_is_an_error():
    with pytest.raises(TaskError):
        state_match()(make_group(trajectories=[make_trajectory()]))
    with pytest.raises(TaskError):
        state_match(gold=lambda task: {})(make_group(trajectories=[make_trajectory()]))
