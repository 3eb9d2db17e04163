import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.lhf.history_score import history_score

RETURNS = st.lists(st.floats(0, 8), min_size=2, max_size=12)


def test_the_docstring_example():
    returns = np.array([[0, 0.5, 0.4, 1]])
    assert history_score(returns, low=0, high=1, ends=0.25)[0] == pytest.approx(1 + 1 - 0.1 / 3, abs=1e-9)
    assert history_score(returns, low=0, high=1, ends=0.25, stability=0)[0] == pytest.approx(1, abs=1e-9)


def test_the_ends_are_means_of_a_share_of_the_episodes():
    returns = np.array([[0, 2, 4, 4, 6, 8]])
    # two of six episodes at each end: 7 - 1 of 8
    assert history_score(returns, low=0, high=8, ends=0.3, stability=0)[0] == pytest.approx(0.75, abs=1e-9)


@given(RETURNS, st.floats(0, 3))
def test_the_score_agrees_with_a_slow_loop(returns, weight):
    part = -(-len(returns) // 5)
    gain = (sum(returns[-part:]) - sum(returns[:part])) / part / 8
    drops = [max(0.0, before - after) for before, after in zip(returns, returns[1:])]
    expected = gain + weight * (1 - sum(drops) / len(drops) / 8)
    assert history_score(np.array([returns]), low=0, high=8, stability=weight)[0] == pytest.approx(expected, abs=1e-9)


@given(RETURNS)
def test_sorted_returns_score_at_least_as_high_as_any_order(returns):
    found = history_score(np.array([returns, sorted(returns)]), low=0, high=8)
    assert found[1] >= found[0] - 1e-9


def test_a_noisy_history_scores_below_a_smooth_one_of_equal_ends():
    smooth = [0, 1, 2, 3, 4, 5]
    noisy = [0, 4, 1, 5, 2, 5]
    found = history_score(np.array([smooth, noisy]), low=0, high=8, ends=0.1)
    assert found[0] > found[1]


@pytest.mark.parametrize(
    "returns, options",
    [
        ([[1.0]], {}),
        ([1.0, 2.0], {}),
        ([[1.0, np.nan]], {}),
        ([[1.0, 2.0]], {"low": 8}),
        ([[1.0, 2.0]], {"stability": -1}),
        ([[1.0, 2.0]], {"ends": 0.6}),
        ([[1.0, 2.0]], {"ends": 0}),
    ],
)
def test_bad_input_is_an_input_error(returns, options):
    with pytest.raises(InputError, match="history_score"):
        history_score(np.array(returns), **{"low": 0, "high": 8, **options})
