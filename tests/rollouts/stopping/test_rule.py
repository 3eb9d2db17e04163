import pytest

from handaxe.core.errors import InputError
from handaxe.rollouts.stopping.rule import successes
from handaxe.testing.make_records import make_trajectory


def test_successes_are_strictly_above_the_threshold():
    ended = [make_trajectory() for _ in range(3)]
    values = dict(zip(map(id, ended), (0.5, 0.51, 1.0)))
    assert successes(ended, lambda one: values[id(one)], 0.5) == 2
    assert successes([], lambda one: 1.0, 0.5) == 0


def test_a_nan_score_is_an_error():
    with pytest.raises(InputError, match="is NaN; give a score that is defined"):
        successes([make_trajectory()], lambda one: float("nan"), 0.5)
