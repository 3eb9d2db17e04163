import numpy as np
import pytest

from handaxe.papers.underspecified_tasks import LAKES, _figures, _lake_scores
from handaxe.papers.underspecified_tasks.train_tabular import METHODS

pytest.importorskip("gymnasium")


def test_figures_of_a_family_follow_from_the_scores():
    one = [0.9, 0.8, 0.1, 0.9, 0.8, 0.1, 0.9, 0.8, 0.1]
    two = [0.7] * 9
    found = _figures("lakes", LAKES, {"one": one, "two": two})
    assert found["lakes/one/point"] == 0.9 and found["lakes/one/family"] == pytest.approx(0.6, abs=1e-9)
    assert found["lakes/flips"] == pytest.approx(6 / 9, abs=1e-9) and found["lakes/flips/point"] == 1.0
    assert found["lakes/error/point"] == pytest.approx(0.15, abs=1e-9)
    gap = found["lakes/error/point"] - found["lakes/error/random"]
    assert found["lakes/error/gap"] == pytest.approx(gap, abs=1e-12)


def test_every_method_is_trained_on_every_lake():
    found = _lake_scores(800, 1, 900)
    assert list(found) == list(METHODS) and all(len(scores) == 9 for scores in found.values())
    assert all(0 <= score <= 1 for scores in found.values() for score in scores)
    assert np.array(list(found.values())).max() > 0
