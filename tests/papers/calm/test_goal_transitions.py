import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.papers.calm.goal_transitions import f1_figures, goal_transitions
from handaxe.testing.make_records import make_trajectory

GOALS = [Criterion("key", "It holds the key."), Criterion("door", "The door is open.")]
ONE = make_trajectory(texts=["wait", "key", "wait", "door"])


def check(trajectory, criteria):
    """A criterion is met in the turns whose text is its name."""
    return np.array([[turn.parsed.raw.startswith(one.name) for turn in trajectory.turns] for one in criteria])


def test_goal_transitions_matches_its_example():
    found = f1_figures(np.array([True, False, False, True]), np.array([0.9, 0.8, 0.1, 0.4]))
    expected = {"f1": 0.5, "constant": 4 / 6, "difference": 0.5 - 4 / 6, "accuracy": 0.5, "ranked": 0.75}
    assert found == pytest.approx(expected | {"said": 0.5, "true": 0.5, "pairs": 4})


@pytest.mark.parametrize("seed", range(20))
def test_goal_transitions_matches_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    true, p = rng.random(15) < 0.4, rng.integers(0, 5, 15) / 4  # with ties
    found = f1_figures(true, p, 0.5)
    right = wrong = missed = 0
    for is_true, chance in zip(true, p):
        right += is_true and chance > 0.5
        wrong += not is_true and chance > 0.5
        missed += is_true and not chance > 0.5
    assert found["f1"] == pytest.approx(2 * right / max(1, 2 * right + wrong + missed))
    always = f1_figures(true, np.ones(15))
    assert always["f1"] == pytest.approx(always["constant"]) and always["difference"] == pytest.approx(0)
    compared = [(a > b) + 0.5 * (a == b) for a in p[true] for b in p[~true]]
    if compared:
        assert found["ranked"] == pytest.approx(np.mean(compared))


def test_figures_without_positives_or_negatives():
    none, all_ = (f1_figures(np.full(3, kind), np.array([0.9, 0.2, 0.3])) for kind in (False, True))
    assert (none["f1"], none["constant"], all_["constant"]) == (0, 0, 1)
    assert math.isnan(none["ranked"]) and math.isnan(all_["ranked"])
    with pytest.raises(InputError, match="no pair of turn and criterion"):
        f1_figures(np.zeros(0, bool), np.zeros(0))


def test_each_criterion_is_reached_in_at_most_one_turn():
    pairs = goal_transitions([ONE, ONE], criteria=lambda task: GOALS, check=check)
    assert len(pairs) == 16
    assert [(one.turn, one.criterion.name) for one in pairs[:8] if one.reached] == [(1, "key"), (3, "door")]
