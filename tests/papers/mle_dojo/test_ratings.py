import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.mle_dojo.ratings import elo_ratings, profile_area, score_ratios


def test_elo_of_two_agents_by_hand():
    found = elo_ratings(np.array([[1.0, 0.9], [0.5, 0.5]]))
    assert found == pytest.approx([1000 + 200 * np.log10(5), 1000 - 200 * np.log10(5)], abs=1e-6)


def test_elo_has_the_expected_number_of_wins():
    """Maximum likelihood: for each agent the expected wins equal the counted ones."""
    scores_MT = np.random.default_rng(0).random((4, 9)).round(1)
    elo_M = elo_ratings(scores_MT)
    for i in range(4):
        wins = 0.0
        expected = 0.0
        for j in range(4):
            if i == j:
                continue
            own = 0.5
            for t in range(9):
                own += float(scores_MT[i, t] > scores_MT[j, t]) + 0.5 * float(scores_MT[i, t] == scores_MT[j, t])
            wins += own
            expected += 10 / (1 + 10 ** ((elo_M[j] - elo_M[i]) / 400))
        assert expected == pytest.approx(wins, abs=1e-6)
    assert elo_M.mean() == pytest.approx(1000, abs=1e-6)


def test_areas_by_hand():
    assert profile_area(np.array([[1.0, 0.5], [0.5, 1.0]])) == pytest.approx([2.5, 2.5], abs=1e-9)
    # ratios [1, 1] and [infinite, 1]: the second task is failed by both
    found = score_ratios(np.array([[0.4, 0.0], [0.0, 0.0]]))
    assert found.tolist() == [[1.0, 1.0], [np.inf, 1.0]]
    assert profile_area(np.array([[0.4, 0.0], [0.0, 0.0]])) == pytest.approx([3.0, 1.5], abs=1e-9)


@given(st.lists(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), min_size=2, max_size=4))
def test_the_area_equals_an_integral_of_the_profile(rows):
    scores_MT = np.array(rows)
    tau = np.linspace(1, 4, 6001)
    ratios_MT = score_ratios(scores_MT)
    for own_T, area in zip(ratios_MT, profile_area(scores_MT), strict=True):
        profile = (own_T[None] <= tau[:, None]).mean(1)
        assert area == pytest.approx(np.trapezoid(profile, tau), abs=2e-3)


@pytest.mark.parametrize("scores", [np.ones((1, 3)), np.ones((2, 0)), np.full((2, 2), np.nan)])
def test_bad_scores_raise(scores):
    with pytest.raises(InputError, match="2 agents or more"):
        elo_ratings(scores)
    with pytest.raises(InputError):
        profile_area(scores)


def test_negative_scores_and_short_integrals_raise():
    with pytest.raises(InputError, match="scores from 0"):
        score_ratios(np.array([[-1.0], [1.0]]))
    with pytest.raises(InputError, match="ends above 1"):
        profile_area(np.ones((2, 2)), most=1.0)
