import math

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.user_preference import UserPreference

BAR = ("mark", "bar")
AGE = ("x", "age")


def test_the_docstring_example():
    user = UserPreference(rate=1)
    user.learn(accepted=[BAR], rejected=[AGE])
    assert user.weights == {BAR: 0.5, AGE: -0.5}
    assert user.score(("bar", "size")) == pytest.approx(1 / (1 + math.exp(-0.5)), abs=1e-9)
    assert user.score(("bar", "age")) == 0.5


def test_repeated_answers_move_the_weight_less_each_time():
    user = UserPreference(rate=1)
    weights = [0.0]
    for _ in range(4):
        user.learn(accepted=[BAR])
        weights.append(user.weights[BAR])
    steps = [after - before for before, after in zip(weights, weights[1:])]
    assert all(step > 0 for step in steps) and steps == sorted(steps, reverse=True)
    assert weights[2] == pytest.approx(0.5 + 1 - 1 / (1 + math.exp(-0.5)), abs=1e-9)


def test_a_rate_of_0_is_an_input_error():
    with pytest.raises(InputError, match="rate is 0"):
        UserPreference(rate=0)
