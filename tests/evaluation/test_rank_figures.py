import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.rank_figures import judge_figures, rank_figures
from handaxe.testing.make_records import make_rated


def test_figures_by_hand():
    found = rank_figures([np.array([0.2, 0.9, 0.5])], [np.array([0.0, 1.0, 2.0])])
    assert found == pytest.approx((2 / 3, 1, 1), abs=1e-9)


def test_equal_scores_are_half_a_win_and_the_mean_of_the_best():
    found = rank_figures([np.zeros(2), np.array([1.0, 1.0, 0.0])], [np.array([0.0, 1.0]), np.array([1.0, 0.0, 0.0])])
    assert found == pytest.approx(((0.5 + 0.5 + 1) / 3, (0.5 + 0.5) / 2, (0.5 + 1 / 3) / 2), abs=1e-9)


def test_figures_equal_a_slow_loop():
    rng = np.random.default_rng(0)
    scores, truths = [rng.integers(0, 4, size=(5, 6)).astype(float) for _ in range(2)]
    wins = pairs = 0
    for score_G, truth_G in zip(scores, truths):
        for i in range(6):
            for j in range(6):
                if truth_G[i] > truth_G[j]:
                    pairs += 1
                    wins += 1.0 if score_G[i] > score_G[j] else 0.5 if score_G[i] == score_G[j] else 0.0
    found = rank_figures(list(scores), list(truths))
    assert found.pair == pytest.approx(wins / pairs, abs=1e-9)
    tops = [truth_G[score_G == score_G.max()].mean() for score_G, truth_G in zip(scores, truths)]
    assert found.best == pytest.approx(np.mean(tops), abs=1e-9)


class Judged:
    """Scores by the place in the group."""

    def score(self, group):
        return np.array([0.2, 0.9, 0.5][: len(group)])


def test_a_judge_is_compared_with_outcomes():
    given = [make_rated(outcome=own) for own in ([0.0, 1.0, 0.0], [1.0, 0.0, 0.0])]
    found = judge_figures(Judged(), [(one.group, one.scores) for one in given])
    assert found == pytest.approx((2 / 4, 1 / 2, 1 / 3), abs=1e-9)


def test_a_monotone_change_of_scores_changes_nothing():
    rng = np.random.default_rng(1)
    scores, truths = list(rng.normal(size=(3, 5))), list(rng.integers(0, 3, size=(3, 5)).astype(float))
    assert rank_figures([np.exp(own) for own in scores], truths) == rank_figures(scores, truths)


def test_equal_truths_have_no_pair():
    assert math.isnan(rank_figures([np.array([1.0, 2.0])], [np.ones(2)]).pair)


@pytest.mark.parametrize("scores, truths", [([], []), ([np.ones(2)], [np.ones(3)]), ([np.zeros(0)], [np.zeros(0)])])
def test_unequal_numbers_raise(scores, truths):
    with pytest.raises(InputError, match="the same rollouts"):
        rank_figures(scores, truths)
