"""The curves of runs for a chart: each run's own, and the mean over the seeds of a setting with its interval."""

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

__all__ = ["AXES", "bands", "run_curves", "setting_of"]

AXES: tuple[Axis, ...] = get_args(Axis)
POINTS = 200
"""Most points of a band."""
UNSEEDED = ("seed",)


def setting_of(run: ViewedRun) -> str:
    """The same text for runs that differ in nothing but their seed; "" for a run that no recipe made."""
    if not run.recipe:
        return ""
    chosen = {name: value for name, value in run.settings.items() if name not in UNSEEDED}
    return sha256(json.dumps([run.recipe, chosen], sort_keys=True, default=str).encode()).hexdigest()[:12]


def run_curves(figures: RunFigures) -> dict[str, Any]:
    """Every figure of a run along every axis.

    Returns:
        "metrics": name -> [steps done, values], those of training with `training/` before their name, those of
        evaluations without; "spent": axis -> how much of it was used up, by the number of steps done.
    """
    names = sorted({name for row in figures.metrics for name in row} - {"step"})
    names = [TRAINING + name for name in names if not name.startswith("eval/")]
    names += sorted({name for one in figures.evaluations.values() for name in one.metrics})
    found = {}
    for name in names:
        try:
            series = figures.series(name)
        except InputError:  # an evaluation that lacks what another has
            continue
        found[name] = [series.axis.astype(int).tolist(), series.values.tolist()]
    spent = {}
    for axis in AXES:
        try:
            spent[axis] = figures.spent(axis).tolist()
        except InputError:  # an old record that did not count it
            continue
    return {"metrics": found, "spent": spent}


def bands(runs: Sequence[dict[str, Any]], metric: str, axis: str) -> dict[str, list[float]] | None:
    """The mean of a figure over runs of one setting, with its 95 % interval.

    Along steps: at the steps that all runs have. Along anything else: at the places of the first run that lie within
    every run, the others read off between their own.

    Args:
        runs: what `run_curves` gave, two or more.
        metric, axis: one of its metrics, one of AXES.

    Returns:
        x, mean, low and high; None where fewer than two runs have the figure along this axis, or they do not overlap.
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
