"""Means of figures."""

import pytest

from handaxe.core.metrics import TaskResult
from handaxe.evaluation.benchmarks.figures_of_parts import figures_of, finite, mean_of, weighted_mean_of


def test_means_by_hand():
    assert mean_of([0.5, 0.25]) == 0.375
    assert weighted_mean_of([0.5, 0.2], [1, 3]) == pytest.approx(0.275, abs=1e-12)
    assert mean_of([0.5, None]) is None and mean_of([]) is None


def test_finite():
    assert finite(0.5) == 0.5 and finite(float("nan")) is None and finite(float("inf")) is None


def test_figures_of_scored_tasks():
    """Two scored tasks with 1 and 0 correct, 3 and 1 calls, and a gauge of 2 / 4 and 1 / 0; a third without a score."""
    tasks = [
        TaskResult("a", 1, 1, 1, 1.0, 3.0, 0.0, 0.0, 0.0, {}, {}, {"share": (2.0, 4.0), "none": (0.0, 0.0)}),
        TaskResult("b", 1, 1, 0, 0.0, 1.0, 0.0, 0.0, 0.0, {}, {}, {"share": (1.0, 0.0), "none": (0.0, 0.0)}),
        TaskResult("c", 1, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, {}),
    ]
    assert figures_of(tasks, ("pass@1", "calls", "share", "none")) == [0.5, 2.0, 0.75, None]
    assert figures_of(tasks[2:], ("pass@1", "calls")) == [None, None]
