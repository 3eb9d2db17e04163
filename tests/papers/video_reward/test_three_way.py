import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.video_reward.three_way import best_threshold, class_figures, three_way_accuracy


def test_accuracy_by_hand():
    assert three_way_accuracy(np.array([2, 0.1, -1]), np.array([1, 0, 1]), 0.5) == pytest.approx(2 / 3)


def test_the_best_threshold_equals_a_search_on_a_grid():
    rng = np.random.default_rng(0)
    margin_P, label_P = rng.normal(size=30), rng.integers(-1, 2, size=30)
    found = best_threshold(margin_P, label_P)
    best = max(three_way_accuracy(margin_P, label_P, one) for one in np.linspace(0, 4, 4001))
    assert three_way_accuracy(margin_P, label_P, found) >= best
    assert best_threshold(np.array([2, 0.1, -1]), np.array([1, 0, -1])) == pytest.approx(0.1)


def test_figures_of_classes_by_hand():
    """The second quality is the first with turned signs and margins ten times as large."""
    margin_PA = np.array([[2, -20], [0.5, -5], [-1, 10]])
    label_PA = np.array([[1, -1], [0, 0], [1, -1]])
    found = class_figures(margin_PA, label_PA, margin_PA, label_PA)
    assert found == pytest.approx({"three": 2 / 3, "strict": 1 / 2, "gap": 1 / 3}, abs=1e-9)
    wide_PA = np.array([[3, -30], [2.5, -25], [-3, 30]])
    assert class_figures(wide_PA, label_PA, margin_PA, label_PA)["three"] == pytest.approx(1 / 3, abs=1e-9)


def test_accuracy_of_nothing_is_an_error():
    with pytest.raises(InputError, match="one comparison or more"):
        three_way_accuracy(np.zeros(0), np.zeros(0), 0.0)
