import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.lhf.retained_histories import retained_histories, retention


def test_retention_by_hand():
    np.testing.assert_allclose(retention(np.array([0.5, 1.5, 2.0])), [0, 2 / 3, 1], atol=1e-9)
    np.testing.assert_array_equal(retention(np.array([3.0, 3.0])), [1, 1])


def test_retention_does_not_depend_on_scale_and_offset():
    scores = np.array([0.2, 1.7, -0.4, 0.9])
    np.testing.assert_allclose(retention(scores), retention(3 * scores - 5), atol=1e-9)


def test_shares_of_retained_histories_follow_the_probabilities():
    kept = retained_histories(np.array([0.0, 1.0, 2.0]), count=6000, rng=np.random.default_rng(0))
    counts = np.bincount(kept, minlength=3)
    assert len(kept) == 6000 and counts[0] == 0
    np.testing.assert_allclose(counts / 6000, [0, 1 / 3, 2 / 3], atol=0.03)


def test_one_good_history_among_many_bad_ones_fills_the_data():
    scores = np.zeros(50)
    scores[17] = 1
    assert set(retained_histories(scores, count=20, rng=np.random.default_rng(1)).tolist()) == {17}


@pytest.mark.parametrize("scores, count", [([], 1), ([1.0, np.inf], 1), ([[1.0]], 1), ([1.0], 0)])
def test_bad_input_is_an_input_error(scores, count):
    with pytest.raises(InputError, match="at least"):
        retained_histories(np.array(scores), count=count, rng=np.random.default_rng(0))
