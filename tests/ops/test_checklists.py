from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Criterion, Message
from handaxe.ops.checklists import marks_of, user_parts
from handaxe.testing.records import make_trajectory


def with_user(trajectory, *before):
    """The user says something more before these turns."""
    messages, n = [], -1
    for message in trajectory.messages:
        n += message.role == "assistant"
        if message.role == "assistant" and n in before:
            messages.append(Message("user", "and now?"))
        messages.append(message)
    return replace(trajectory, messages=tuple(messages))


def attempt(turns):
    return make_trajectory(texts=["."] * turns)


def told(*rows):
    return lambda trajectory, criteria: np.array(rows, bool)


def test_the_example_of_the_module():
    criteria = [Criterion("c1", ""), Criterion("c2", "", after=("c1",))]
    marks = marks_of(told([0, 1, 1], [0, 0, 1]), attempt(3), criteria)
    assert marks.met_CN.tolist() == [[False, True, True], [False, False, True]]
    assert marks.earned_CN.tolist() == [[False, True, False], [False, False, True]]
    assert marks.open_CN.tolist() == [[True, True, False], [False, False, True]]


def test_met_too_early_or_together_is_never_earned():
    criteria = [Criterion("c1", ""), Criterion("c2", "", after=("c1",))]
    for rows in ([[0, 1], [1, 1]], [[1, 1], [1, 1]]):
        assert marks_of(told(*rows), attempt(2), criteria).earned_CN[1].tolist() == [False, False]


def test_once_met_is_met_for_good():
    marks = marks_of(told([1, 0, 1]), attempt(3), [Criterion("c", "")])
    assert marks.met_CN.tolist() == [[True] * 3] and marks.earned_CN.tolist() == [[True, False, False]]


def test_parts_begin_where_the_user_speaks():
    one = attempt(4)
    assert user_parts(one).tolist() == [0, 0, 0, 0]
    assert user_parts(with_user(one, 1, 3)).tolist() == [0, 1, 1, 2]
    assert user_parts(with_user(one, 0, 2)).tolist() == [0, 0, 1, 1]  # still the opening
    budget = replace(one, messages=(*one.messages[:2], Message("user", "2 left", name="budget"), *one.messages[2:]))
    assert user_parts(budget).tolist() == [0, 0, 0, 0]
    assert user_parts(replace(one, messages=one.messages[:2])).tolist() == [0, 0, 0, 0]
    assert user_parts(make_trajectory(layouts=["Ut"])).tolist() == []


def test_a_criterion_is_earned_in_its_own_part_alone():
    criteria = [Criterion("first", ""), Criterion("second", "", part=1)]
    marks = marks_of(told([0, 0, 1], [0, 0, 1]), with_user(attempt(3), 1), criteria)
    assert marks.earned_CN.tolist() == [[False] * 3, [False, False, True]]
    assert marks.open_CN.tolist() == [[True, False, False], [False, True, True]]


def test_no_turn_and_no_criterion():
    empty = make_trajectory(layouts=["Ut"])
    assert marks_of(lambda one, c: np.zeros((1, 0), bool), empty, [Criterion("c", "")]).open_CN.shape == (1, 0)
    assert marks_of(lambda one, c: np.zeros((0, 2), bool), attempt(2), []).open_CN.shape == (0, 2)


def test_what_is_refused():
    with pytest.raises(TaskError, match="name of its own"):
        marks_of(told([1], [1]), attempt(1), [Criterion("c", ""), Criterion("c", "")])
    with pytest.raises(TaskError, match="come after .'b'."):
        marks_of(told([1]), attempt(1), [Criterion("a", "", after=("b",))])
    for wrong in (told([1, 1]), lambda one, c: np.ones((1, 1))):
        with pytest.raises(InputError, match="the check gave"):
            marks_of(wrong, attempt(1), [Criterion("a", "")])
