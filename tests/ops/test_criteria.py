from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Criterion, Message
from handaxe.ops.criteria import criteria_progress, met_shares, user_turn_indices
from handaxe.testing.make_records import make_trajectory


def with_user(trajectory, *before):
    """Insert a user message before each of these turns."""
    messages, n = [], -1
    for message in trajectory.messages:
        n += message.role == "assistant"
        if message.role == "assistant" and n in before:
            messages.append(Message("user", "and now?"))
        messages.append(message)
    return replace(trajectory, messages=tuple(messages))


def trajectory_of(turns):
    return make_trajectory(texts=["."] * turns)


def constant_check(*rows):
    return lambda trajectory, criteria: np.array(rows, bool)


def test_criteria_progress_equals_the_example():
    criteria = [Criterion("c1", ""), Criterion("c2", "", after=("c1",))]
    marks = criteria_progress(constant_check([0, 1, 1], [0, 0, 1]), trajectory_of(3), criteria)
    assert marks.met_CN.tolist() == [[False, True, True], [False, False, True]]
    assert marks.earned_CN.tolist() == [[False, True, False], [False, False, True]]
    assert marks.open_CN.tolist() == [[True, True, False], [False, False, True]]


def test_criterion_met_before_or_with_its_prerequisite_is_not_earned():
    criteria = [Criterion("c1", ""), Criterion("c2", "", after=("c1",))]
    for rows in ([[0, 1], [1, 1]], [[1, 1], [1, 1]]):
        assert criteria_progress(constant_check(*rows), trajectory_of(2), criteria).earned_CN[1].tolist() == [
            False,
            False,
        ]


def test_met_criterion_stays_met():
    marks = criteria_progress(constant_check([1, 0, 1]), trajectory_of(3), [Criterion("c", "")])
    assert marks.met_CN.tolist() == [[True] * 3] and marks.earned_CN.tolist() == [[True, False, False]]


def test_user_turn_index_rises_at_unnamed_user_messages():
    one = trajectory_of(4)
    assert user_turn_indices(one).tolist() == [0, 0, 0, 0]
    assert user_turn_indices(with_user(one, 1, 3)).tolist() == [0, 1, 1, 2]
    assert user_turn_indices(with_user(one, 0, 2)).tolist() == [0, 0, 1, 1]  # still the opening
    budget = replace(one, messages=(*one.messages[:2], Message("user", "2 left", name="budget"), *one.messages[2:]))
    assert user_turn_indices(budget).tolist() == [0, 0, 0, 0]
    assert user_turn_indices(replace(one, messages=one.messages[:2])).tolist() == [0, 0, 0, 0]
    assert user_turn_indices(make_trajectory(layouts=["Ut"])).tolist() == []


def test_criterion_is_earned_only_in_its_user_turn():
    criteria = [Criterion("first", ""), Criterion("second", "", part=1)]
    marks = criteria_progress(constant_check([0, 0, 1], [0, 0, 1]), with_user(trajectory_of(3), 1), criteria)
    assert marks.earned_CN.tolist() == [[False] * 3, [False, False, True]]
    assert marks.open_CN.tolist() == [[True, False, False], [False, True, True]]


def test_no_turns_or_no_criteria_give_empty_arrays():
    empty = make_trajectory(layouts=["Ut"])
    assert criteria_progress(lambda one, c: np.zeros((1, 0), bool), empty, [Criterion("c", "")]).open_CN.shape == (1, 0)
    assert criteria_progress(lambda one, c: np.zeros((0, 2), bool), trajectory_of(2), []).open_CN.shape == (0, 2)


def test_bad_criteria_and_bad_checks_raise():
    with pytest.raises(TaskError, match="different names"):
        criteria_progress(constant_check([1], [1]), trajectory_of(1), [Criterion("c", ""), Criterion("c", "")])
    with pytest.raises(TaskError, match="unknown prerequisites .'b'."):
        criteria_progress(constant_check([1]), trajectory_of(1), [Criterion("a", "", after=("b",))])
    for wrong in (constant_check([1, 1]), lambda one, c: np.ones((1, 1))):
        with pytest.raises(InputError, match="the check returned"):
            criteria_progress(wrong, trajectory_of(1), [Criterion("a", "")])


def test_met_shares_matches_its_example_and_counts_each_rollout_once():
    a, b = Criterion("a", ""), Criterion("b", "")
    check = lambda one, criteria: np.array([[item.name in one.id] * len(one.turns) for item in criteria], bool)  # noqa: E731
    made = [replace(trajectory_of(2), id=name) for name in ("ab", "b", "x", "y")]
    pairs = [([a, b] if k else [a], one) for k, one in enumerate(made)]
    assert met_shares(check, pairs) == {"a": 0.25, "b": 1 / 3}
    assert met_shares(check, []) == {}
