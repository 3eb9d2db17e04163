import math

import pytest

from handaxe.core.errors import InputError
from handaxe.rewards.parts.schedules import ramp, shift, sigmoid, two_stage


def test_two_stage_matches_the_docstring_example():
    scale = two_stage(1.0, 0.5, at=30)
    assert [scale(step) for step in (0, 29, 30, 1000)] == [1.0, 1.0, 0.5, 0.5]


def test_ramp_matches_the_docstring_example():
    target = ramp(384, 640, steps=105)
    assert [target(0), target(105), target(500)] == [384, 640, 640]
    assert target(52.5) == 512
    assert ramp(2, 1, steps=150)(75) == 1.5


def test_shift_matches_the_docstring_example():
    scale = shift(2, 1, at=10, over=20)
    assert [scale(step) for step in (0, 10, 20, 30, 99)] == [2, 2, 1.5, 1, 1]
    at_once, always = shift(1.0, 0.5, at=6), shift(7.0, 0.5)
    assert [at_once(step) for step in (0, 5, 6)] == [1.0, 1.0, 0.5] and [always(0), always(9)] == [0.5, 0.5]
    for wrong in ({"at": -1}, {"over": -1}):
        with pytest.raises(InputError, match="0 or more"):
            shift(1, 0, **wrong)


def test_schedules_without_steps_are_errors():
    with pytest.raises(InputError):
        ramp(0, 1, steps=0)


def test_sigmoid_matches_the_docstring_example():
    """The paper counts its steps from 1."""
    f = sigmoid(350)
    shown = [f(step - 1) for step in (1, 70, 71, 75, 100)]
    assert shown == [pytest.approx(value, rel=2e-2) for value in (1.0, 0.5711, 0.4821, 0.1818, 2.9e-5)]
    slow = [1 / (1 + math.exp(125 * (step / 349 - 0.2))) for step in range(350)]
    assert [f(step) for step in range(350)] == pytest.approx(slow)
    assert f(10**9) == 0 and sigmoid(11, middle=0.5, steepness=10)(5) == 0.5
    for wrong in ({"steps": 1}, {"steps": 5, "steepness": 0}):
        with pytest.raises(InputError, match="2 or more"):
            sigmoid(**wrong)
