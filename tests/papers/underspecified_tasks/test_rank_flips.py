import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from handaxe.core.errors import InputError
from handaxe.papers.underspecified_tasks.rank_flips import other_best, rank_flips

SCORES = arrays(np.float64, st.tuples(st.integers(2, 4), st.integers(1, 5)), elements=st.sampled_from([0.0, 0.5, 1.0]))


def test_rank_flips_equals_an_example_by_hand():
    scores = np.array([[9.0, 1.0], [6.0, 6.0]])
    assert rank_flips(scores) == 0.5 and other_best(scores) == 0.5
    assert rank_flips(scores, [0]) == 1.0 and rank_flips(scores, [1]) == 0.0
    three = np.array([[3.0, 0.0, 3.0], [2.0, 2.0, 1.0], [0.0, 0.0, 0.0]])  # means 2, 5/3 and 0
    assert rank_flips(three) == pytest.approx(1 / 9, abs=1e-12) and other_best(three) == pytest.approx(1 / 3, abs=1e-12)


@given(SCORES)
def test_rank_flips_equals_a_loop(score_KM):
    found = []
    for first in range(len(score_KM)):
        for second in range(first):
            whole = sum(score_KM[first]) / score_KM.shape[1] - sum(score_KM[second]) / score_KM.shape[1]
            for own, other in zip(score_KM[first], score_KM[second], strict=True):
                if whole:
                    found.append((own > other and whole < 0) or (own < other and whole > 0))
    expected = sum(found) / len(found) if found else 0.0
    assert rank_flips(score_KM) == pytest.approx(expected, abs=1e-9)
    assert rank_flips(3 * score_KM + 1) == pytest.approx(expected, abs=1e-9)


def test_equal_methods_and_members_have_no_flips():
    assert rank_flips(np.ones((3, 4))) == 0.0 and other_best(np.ones((3, 4))) == 0.0
    assert rank_flips(np.array([[1.0, 1.0], [0.0, 0.0]])) == 0.0


@pytest.mark.parametrize("scores", [[[1.0, 2.0]], [1.0, 2.0], np.zeros((2, 0)), [[np.nan, 1.0], [1.0, 1.0]]])
def test_bad_scores_raise(scores):
    with pytest.raises(InputError, match="finite scores of two methods"):
        rank_flips(np.array(scores))
