import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.rewards.outcome import outcome
from handaxe.rewards.win_rate import win_rate
from handaxe.testing.make_records import make_group, make_trajectory


def fixed(task):
    """Scores of three answers to any task."""
    return np.array([1.0, 2.0, 4.0])


EXAMPLE = {"score": outcome(lambda one: float(len(one.turns))), "references": fixed}
CONTRACT = [EXAMPLE]
LAB = "a monotone function of another reward"


def group(*scores):
    made = [make_trajectory(id=str(i), sample=i) for i in range(len(scores))]
    return make_group(trajectories=made), outcome(lambda one: scores[one.sample])


def test_the_numbers_of_par():
    one, score = group(2.0)
    assert win_rate(score=score, references=fixed)(one).outcome.tolist() == pytest.approx([0.4501], abs=1e-4)


@pytest.mark.parametrize("steepness", [0.5, 3.0])
def test_it_equals_a_slow_loop_and_keeps_the_score(steepness):
    one, score = group(0.3, -2.0, 100.0)
    found = win_rate(score=score, references=fixed, steepness=steepness)(one)
    for value, own in zip((0.3, -2.0, 100.0), found.outcome, strict=True):
        assert own == pytest.approx(sum(1 / (1 + math.exp(-steepness * (value - m))) for m in fixed(None)) / 3)
    assert found.channels["score"].tolist() == [0.3, -2.0, 100.0]
    assert (np.diff(found.outcome[[1, 0, 2]]) > 0).all() and found.outcome.max() <= 1


def test_bad_input_is_one_sentence():
    one, score = group(1.0)
    with pytest.raises(InputError, match="give more than 0"):
        win_rate(score=score, references=fixed, steepness=0)
    with pytest.raises(InputError, match="has no reference answer"):
        win_rate(score=score, references=lambda task: np.zeros(0))(one)
