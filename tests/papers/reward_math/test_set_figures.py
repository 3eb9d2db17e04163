import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.reward_math.set_figures import beats_all, reciprocal_rank


def test_the_numbers_of_the_paper_by_hand():
    """Ranks 1, 3 and 2: accuracy 1/3, mean reciprocal rank 0.6111."""
    scores = [np.array([0.9, 0.5, 0.3]), np.array([0.1, 0.5, 0.3]), np.array([0.4, 0.5, 0.3])]
    assert beats_all(scores).tolist() == [1.0, 0.0, 0.0]
    assert reciprocal_rank(scores).mean() == pytest.approx(11 / 18, abs=1e-6)


def test_an_equal_score_is_no_win():
    assert beats_all([np.array([0.5, 0.5])]).tolist() == [0.0]
    assert reciprocal_rank([np.array([0.5, 0.5])]).tolist() == [0.5]


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=6), min_size=1, max_size=6))
def test_figures_equal_a_loop(given_scores):
    scores = [np.array(own, float) for own in given_scores]
    for own, won, rank in zip(scores, beats_all(scores), reciprocal_rank(scores), strict=True):
        above = 0
        for other in own[1:]:
            above += other >= own[0]
        assert won == float(above == 0) and rank == pytest.approx(1 / (1 + above), abs=1e-6)


def test_a_set_of_one_raises():
    with pytest.raises(InputError, match="one correct solution and one incorrect solution"):
        beats_all([np.array([0.5])])
