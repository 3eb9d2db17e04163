import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.rank_score import fit_ranking, learned_score


def test_one_pair_by_hand():
    # the derivative -sigmoid(-w) + w is 0 at w = 0.401058
    found = fit_ranking([(np.array([[1.0]]), np.array([[0.0]]))], l2=1.0)
    assert found[0] == pytest.approx(0.401058, abs=1e-6)


def test_the_gradient_of_the_objective_is_zero_by_a_slow_loop():
    rng = np.random.default_rng(1)
    pairs = [(rng.normal(size=(2, 3)), rng.normal(size=(4, 3))), (rng.normal(size=(1, 3)), rng.normal(size=(2, 3)))]
    w = fit_ranking(pairs, l2=0.5)
    slope = 0.5 / 3 * w
    for good, bad in pairs:
        for p in good:
            for q in bad:
                slope -= (p - q) / (1 + np.exp(w @ (p - q))) / len(good) / len(bad) / len(pairs)
    np.testing.assert_allclose(slope, 0, atol=1e-6)


def test_published_charts_rank_above_others():
    good = np.array([[1.0, 0.2], [0.9, 0.8]])
    bad = np.array([[0.1, 0.5], [0.0, 0.1]])
    w = fit_ranking([(good, bad)])
    assert (good @ w).min() > (bad @ w).max() and abs(w[0]) > abs(w[1])


def test_the_score_by_hand():
    assert learned_score(np.array([1.0, 0]), np.array([2.0, -2])) == pytest.approx(0.5, abs=1e-9)
    assert learned_score(np.array([1.0, 0]), np.array([4.0, 0])) == pytest.approx(1 / (1 + np.exp(-2)), abs=1e-9)


@pytest.mark.parametrize(
    "pairs, l2", [([], 1.0), ([(np.ones((1, 1)), np.ones((0, 1)))], 1.0), ([(np.ones((1, 1)),) * 2], 0)]
)
def test_bad_input_is_an_input_error(pairs, l2):
    with pytest.raises(InputError, match="both sides"):
        fit_ranking(pairs, l2=l2)
