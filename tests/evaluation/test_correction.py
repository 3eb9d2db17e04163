import numpy as np
import pytest

from handaxe.evaluation.claim_figures import pair_values
from handaxe.evaluation.correction import survive_correction
from handaxe.evaluation.decide import Decision


def decision(p, look=8):
    return Decision("holds", "", pair_values([1.0, 1.0], [0.0, 0.0]), look=look, p=p)


def test_correction_matches_the_docstring_example():
    assert survive_correction([decision(0.001), decision(0.2)]) == [True, False]


def slow_loop(p, error):
    """Benjamini-Yekutieli: the largest k with p_(k) <= k * error / (m * sum(1/i)); the k smallest survive."""
    m = len(p)
    harmonic = sum(1 / i for i in range(1, m + 1))
    ordered = sorted(p)
    k = max([i + 1 for i in range(m) if ordered[i] <= (i + 1) * error / (m * harmonic)], default=0)
    return [value <= ordered[k - 1] if k else False for value in p]


@pytest.mark.parametrize("seed", range(5))
def test_correction_equals_a_slow_loop(seed):
    p = (np.random.default_rng(seed).random(20) ** 3).tolist()
    assert survive_correction([decision(one) for one in p]) == slow_loop(p, 0.05)


def test_decisions_without_a_look_are_not_counted():
    few = [decision(0.03)]
    assert survive_correction(few) == [True]
    assert survive_correction([*few, decision(1.0, look=0)]) == [True, False]
    assert survive_correction([*few, decision(0.9)]) == [False, False]
    assert survive_correction([]) == []
