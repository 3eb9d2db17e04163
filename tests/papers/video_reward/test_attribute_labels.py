import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.video_reward.attribute_labels import compare_qualities, rate_qualities


def test_labels_by_hand():
    quality_P2A = np.array([[[1.0, 0.25], [0.75, 0.75]]])
    assert compare_qualities(quality_P2A, tie=0.3).tolist() == [[0, -1]]
    assert compare_qualities(quality_P2A, tie=0.3, noise_PA=np.array([[0.1, 0.3]])).tolist() == [[1, 0]]


def test_labels_equal_a_slow_loop():
    rng = np.random.default_rng(0)
    quality_P2A, noise_PA = rng.random((20, 2, 3)), rng.normal(size=(20, 3))
    found = compare_qualities(quality_P2A, tie=0.4, noise_PA=noise_PA)
    for p in range(20):
        for a in range(3):
            gap = quality_P2A[p, 0, a] - quality_P2A[p, 1, a] + noise_PA[p, a]
            assert found[p, a] == (0 if abs(gap) <= 0.4 else 1 if gap > 0 else -1)


def test_ratings_are_whole_numbers_on_the_scale():
    assert rate_qualities(np.array([0.5, 0.0, 1.0]), noise_P2A=np.array([0.2, -1.0, 1.0])).tolist() == [4, 1, 5]


def test_a_negative_tie_is_an_error():
    with pytest.raises(InputError, match="tie is -1"):
        compare_qualities(np.zeros((1, 2, 1)), tie=-1)
