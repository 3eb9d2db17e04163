from itertools import combinations

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.knapsack_composer.offline_selection import cover_optimum, score_knapsack

TWICE = np.array([[1, 1], [1, 0], [0, 1]], bool)


def subsets(count):
    return [chosen for size in range(count + 1) for chosen in combinations(range(count), size)]


def test_cover_optimum_prefers_two_cheap_tools():
    assert cover_optimum(TWICE, np.array([3.0, 1, 1]), np.ones(2), budget=2) == (1, 2)
    assert cover_optimum(TWICE, np.array([1.0, 1, 1]), np.ones(2), budget=2) == (0,)
    assert cover_optimum(TWICE, np.array([3.0, 1, 1]), np.array([1.0, 2]), budget=1) == (2,)
    assert cover_optimum(TWICE, np.array([3.0, 1, 1]), np.ones(2), budget=0) == ()


@pytest.mark.parametrize("seed", range(12))
def test_cover_optimum_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    helps_IM = rng.random((9, 4)) < 0.3
    cost_I = rng.integers(1, 6, 9).astype(float)
    importance_M = rng.integers(1, 4, 4).astype(float)
    found = cover_optimum(helps_IM, cost_I, importance_M, budget=7)

    def value(chosen):
        return importance_M[helps_IM[list(chosen)].any(0)].sum()

    fitting = [chosen for chosen in subsets(9) if cost_I[list(chosen)].sum() <= 7]
    assert cost_I[list(found)].sum() <= 7
    assert value(found) == max(map(value, fitting))
    assert cost_I[list(found)].sum() == min(
        cost_I[list(chosen)].sum() for chosen in fitting if value(chosen) == value(found)
    )


@pytest.mark.parametrize("seed", range(8))
def test_score_knapsack_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    score_IM = np.round(rng.random((7, 3)), 3) * (rng.random((7, 3)) < 0.5)
    cost_I = rng.integers(1, 6, 7).astype(float)

    def value(chosen):
        return score_IM[list(chosen)].max(0, initial=0.0).sum()

    best = max(value(chosen) for chosen in subsets(7) if cost_I[list(chosen)].sum() <= 6)
    found = score_knapsack(score_IM, cost_I, budget=6)
    assert cost_I[list(found)].sum() <= 6
    assert value(found) == pytest.approx(best, abs=1e-6)


def test_score_knapsack_of_a_small_budget():
    assert score_knapsack(np.array([[1.0], [0.5]]), np.array([3.0, 1]), budget=2) == (1,)
    assert score_knapsack(np.zeros((2, 1)), np.ones(2), budget=2) == ()


def test_bad_arguments_raise():
    with pytest.raises(InputError, match="has 1 costs"):
        score_knapsack(np.ones((2, 1)), np.ones(1), budget=2)
    with pytest.raises(InputError, match="cost is not above 0"):
        cover_optimum(TWICE, np.array([0.0, 1, 1]), np.ones(2), budget=2)
    with pytest.raises(InputError, match="2 skills have 3 importances"):
        cover_optimum(TWICE, np.ones(3), np.ones(3), budget=2)
    with pytest.raises(InputError, match="the budget is -1"):
        score_knapsack(np.ones((1, 1)), np.ones(1), budget=-1)
