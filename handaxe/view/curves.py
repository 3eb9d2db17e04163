"""Curves of runs for charts: metrics of each run, and means over seeds with intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, get_args

import numpy as np

from handaxe.core.errors import InputError
from handaxe.evaluation.figures import TRAINING, Axis, RunFigures
from handaxe.ops.stats import mean_interval
from handaxe.view.runs import ViewedRun

__all__ = ["AXES", "bands", "run_curves", "settings_digest"]

AXES: tuple[Axis, ...] = get_args(Axis)
POINTS = 200
"""Limit of points of a band."""
UNSEEDED = ("seed",)


def settings_digest(run: ViewedRun) -> str:
    """Digest of method and arguments, equal for runs that differ only in the seed; "" for a run without a method."""
    if not run.method:
        return ""
    arguments = {name: value for name, value in run.settings.items() if name not in UNSEEDED}
    return sha256(json.dumps([run.method, arguments], sort_keys=True, default=str).encode()).hexdigest()[:12]


def run_curves(figures: RunFigures) -> dict[str, Any]:
    """All metrics of a run along all axes.

    Returns:
        "metrics": name -> [steps done, values]; training metrics have the prefix `training/`, evaluation metrics none.
        "spent": axis -> amount used, by the number of steps done.
    """
    names = sorted({name for row in figures.metrics for name in row} - {"step"})
    names = [TRAINING + name for name in names if not name.startswith("eval/")]
    names += sorted({name for one in figures.evaluations.values() for name in one.metrics})
    found = {}
    for name in names:
        try:
            series = figures.series(name)
        except InputError:  # some evaluations lack this metric
            continue
        found[name] = [series.axis.astype(int).tolist(), series.values.tolist()]
    spent = {}
    for axis in AXES:
        try:
            spent[axis] = figures.spent(axis).tolist()
        except InputError:  # an old record without this axis
            continue
    return {"metrics": found, "spent": spent}


def bands(runs: Sequence[dict[str, Any]], metric: str, axis: str) -> dict[str, list[float]] | None:
    """Mean of a metric over runs with equal settings, with 95 % interval.

    Along steps: at the steps common to all runs. Along other axes: at the points of the first run within the range of
    every run, with linear interpolation of the other runs.

    Args:
        runs: results of `run_curves`, two or more.
        metric, axis: name of a metric, and one of AXES.

    Returns:
        x, mean, low and high; None if fewer than two runs have the metric along the axis, or ranges do not overlap.
    """
    lines = [line for one in runs if (line := _line(one, metric, axis)) is not None]
    if len(lines) < 2:
        return None
    first = max(float(x[0]) for x, _ in lines)
    last = min(float(x[-1]) for x, _ in lines)
    if axis == "steps":
        grid = np.array(sorted(set.intersection(*[set(x.tolist()) for x, _ in lines])))
    else:
        grid = np.array([place for place in lines[0][0].tolist() if first <= place <= last])
    if not len(grid):
        return None
    grid = grid[np.unique(np.linspace(0, len(grid) - 1, POINTS).round().astype(int))]
    values = np.array([np.interp(grid, x, y) for x, y in lines])
    spread = [mean_interval(column) for column in values.T]
    return {
        "x": grid.tolist(),
        "mean": values.mean(0).tolist(),
        "low": [one.low for one in spread],
        "high": [one.high for one in spread],
    }


def _line(one: dict[str, Any], metric: str, axis: str) -> tuple[np.ndarray, np.ndarray] | None:
    if metric not in one["metrics"] or axis not in one["spent"]:
        return None
    steps, values = one["metrics"][metric]
    points = [(one["spent"][axis][step], value) for step, value in zip(steps, values) if math.isfinite(value)]
    return (np.array([x for x, _ in points]), np.array([y for _, y in points])) if points else None
