"""Means of figures."""

import pytest

from handaxe.evaluation.benchmarks.figures_of_parts import finite, mean_of, weighted_mean_of


def test_means_by_hand():
    assert mean_of([0.5, 0.25]) == 0.375
    assert weighted_mean_of([0.5, 0.2], [1, 3]) == pytest.approx(0.275, abs=1e-12)
    assert mean_of([0.5, None]) is None and mean_of([]) is None


def test_finite():
    assert finite(0.5) == 0.5 and finite(float("nan")) is None and finite(float("inf")) is None
