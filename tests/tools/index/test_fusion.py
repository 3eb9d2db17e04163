import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.tools.index.fusion import reciprocal_rank_fusion, top_scores


def test_fusion_and_top_scores_give_the_examples():
    assert reciprocal_rank_fusion([[7, 3], [3, 5]]) == [(3, 1 / 62 + 1 / 61), (7, 1 / 61), (5, 1 / 62)]
    assert top_scores(np.array([0.1, 0.5, 0.5, 0.0]), 3, above=0.0) == [(1, 0.5), (2, 0.5), (0, 0.1)]


def test_equal_scores_are_ordered_by_item():
    assert [item for item, _ in reciprocal_rank_fusion([[9, 2], [2, 9]])] == [2, 9]
    assert reciprocal_rank_fusion([]) == [] and reciprocal_rank_fusion([[], [4]]) == [(4, 1 / 61)]
    assert reciprocal_rank_fusion([[1], [2]], constant=1.0) == [(1, 0.5), (2, 0.5)]
    with pytest.raises(InputError, match="more than 0"):
        reciprocal_rank_fusion([[1]], constant=0)


def test_rounding_differences_are_ties():
    assert top_scores(np.array([0.3, 0.3 + 1e-9], dtype=np.float64), 2, above=0.0) == [(0, 0.3), (1, 0.3)]


def test_top_scores_equals_a_full_sort():
    rng = np.random.default_rng(0)
    for count in (0, 1, 5, 40, 100):
        scores = rng.integers(0, 6, size=40) / 4
        slow = sorted(((i, float(s)) for i, s in enumerate(scores) if s > 0.25), key=lambda p: (-p[1], p[0]))[:count]
        assert top_scores(scores, count, above=0.25) == slow
