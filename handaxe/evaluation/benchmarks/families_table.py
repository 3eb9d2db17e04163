"""Table of families of tasks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from handaxe.evaluation.benchmarks.benchmark import BenchmarkTable, PartResult
from handaxe.evaluation.benchmarks.family_estimates import (
    family_mean,
    medoid_weights,
    medoids_error,
    point_gap,
    random_error,
)
from handaxe.evaluation.benchmarks.figures_of_parts import accuracy, counts, finite, unscored_notes
from handaxe.ops.seeds import generator

__all__ = ["TaskFamily", "families_table"]

SOME = 3
"""Members of an estimate from a subset."""
RESAMPLES = 2000
NOTES = (
    "family: mean of all members. point: one member, in the middle of the family. errors: of the family's accuracy, "
    f"estimated from {SOME} members; random is the mean over all subsets.",
    "Intervals are of the drawn tasks, with fixed members. Compare two policies by the rows of the families: on one "
    "member the order may be the opposite.",
)


class TaskFamily(NamedTuple):
    """Members of a family.

    axes   parameter -> values; a member is a combination
    point  parameters of the member that an evaluation on one member would take
    """

    axes: Mapping[str, tuple[int, ...]]
    point: tuple[int, ...]

    def members(self) -> list[tuple[int, ...]]:
        """Parameters of every member, in the order of the axes."""
        return list(itertools.product(*self.axes.values()))

    def label(self, name: str, member: tuple[int, ...]) -> str:
        """Name of a part, such as "sums, 3 terms, 2 digits"."""
        return ", ".join([name, *(f"{value} {axis}" for axis, value in zip(self.axes, member, strict=True))])


def families_table(results: Mapping[str, PartResult], *, families: Mapping[str, TaskFamily]) -> BenchmarkTable:
    """Make the table: rows of each family; dashes for a family with a member without a scored task.

    Args:
        results: by name of part, see `TaskFamily.label`.
        families: by name.
    """
    rows: list[tuple[str | float | None, ...]] = []
    for name, family in families.items():
        labels = [family.label(name, member) for member in family.members()]
        rows += _rows(name, family, [results[one] for one in labels])
    columns = ("figure", "value", "low", "high", "scored", "tasks")
    return BenchmarkTable(columns, tuple(rows), (*NOTES, *unscored_notes(results)))


def _rows(name: str, family: TaskFamily, parts: list[PartResult]) -> list[tuple[str | float | None, ...]]:
    point = family.members().index(family.point)
    every = [task for part in parts for task in part.tasks]
    names = (
        "family",
        "lowest",
        "highest",
        "point",
        "point - family",
        f"error, {SOME} random",
        f"error, {SOME} medoids",
    )
    rows = [f"{name}, {one}" for one in names]
    outcomes = [np.array([task.correct / task.scored for task in part.tasks if task.scored]) for part in parts]
    if not all(len(one) for one in outcomes):
        return [(row, None, None, None, *counts(every)) for row in rows]
    found = [float(one.mean()) for one in outcomes]
    weights = medoid_weights(np.array(family.members()), SOME)
    whole, gap = _intervals(outcomes, point)
    alone = accuracy(parts[point].tasks)
    none = (None, None)
    known = accuracy(every)
    ends = whole if 0 < known.value < 1 else (known.low, known.high)
    figures: list[tuple[float | None, ...]] = [
        (family_mean(found), *map(finite, ends), *counts(every)),
        (min(found), *none, *none),
        (max(found), *none, *none),
        (found[point], finite(alone.low), finite(alone.high), *counts(parts[point].tasks)),
        (point_gap(found, point), *gap, *none),
        (random_error(found, SOME), *none, *none),
        (medoids_error(found, weights), *none, *none),
    ]
    return [(row, *one) for row, one in zip(rows, figures, strict=True)]


def _intervals(outcomes: list[np.ndarray], point: int) -> tuple[tuple[float, float], tuple[float | None, float | None]]:
    """Bootstrap intervals over the tasks of each member: of the mean, and of the gap (undefined without variation)."""
    rng = generator("families", 0)
    drawn_MR = np.array([one[rng.integers(len(one), size=(RESAMPLES, len(one)))].mean(axis=1) for one in outcomes])
    mean_R = drawn_MR.mean(axis=0)
    low, high = np.quantile(mean_R, [0.025, 0.975])
    ends = np.quantile(drawn_MR[point] - mean_R, [0.025, 0.975])
    gap = (None, None) if ends[0] == ends[1] else (float(ends[0]), float(ends[1]))
    return (float(low), float(high)), gap
