"""Figures of a part of a benchmark, and sentences on rollouts without a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from handaxe.core.metrics import TaskResult
from handaxe.evaluation.benchmarks.benchmark import PartResult
from handaxe.evaluation.estimates import Estimate, columns, estimate
from handaxe.ops.stats import ratio

__all__ = ["accuracy", "counts", "figures_of", "finite", "mean_of", "unscored_notes", "weighted_mean_of"]


def finite(value: float) -> float | None:
    """Return a number, or None if it is not finite."""
    return float(value) if isfinite(value) else None


def accuracy(tasks: Sequence[TaskResult]) -> Estimate:
    """Estimate the share of correct rollouts, with an interval over tasks; NaN without a scored rollout."""
    return estimate(columns(tasks, ks=(1,))["pass@1"], share=True)


def counts(tasks: Sequence[TaskResult]) -> tuple[float, float]:
    """Numbers of tasks with a scored rollout, and of all tasks."""
    return float(sum(task.scored > 0 for task in tasks)), float(len(tasks))


def figures_of(tasks: Sequence[TaskResult], names: Sequence[str]) -> list[float | None]:
    """Values of metrics and gauges over the scored tasks; None without a scored task, or for a number that is not
    finite.

    Args:
        tasks: of a part.
        names: of `columns` with k = 1, such as pass@1, tokens or a gauge.

    Example:
        pass@1 and calls of two tasks with 1 and 0 of 1 rollouts correct, and 3 and 1 calls: [0.5, 2.0]
    """
    if not any(task.scored for task in tasks):
        return [None] * len(names)
    found = columns(tasks, ks=(1,))
    chosen = [found[name] for name in names]
    return [finite(ratio(one.top_T[one.usable_T], one.bottom_T[one.usable_T])) for one in chosen]


def mean_of(values: Sequence[float | None]) -> float | None:
    """Mean of figures with equal weights; None if one of them is undefined or there is none.

    Example:
        [0.5, 0.25] -> 0.375    [0.5, None] -> None
    """
    return weighted_mean_of(values, [1.0] * len(values))


def weighted_mean_of(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """Weighted mean of figures; None if one of them is undefined or there is none.

        sum_i w_i x_i / sum_i w_i

    Example:
        [0.5, 0.2] with weights 1 and 3 -> 1.1 / 4 = 0.275
    """
    known = [value for value in values if value is not None]
    if not values or len(known) < len(values):
        return None
    return sum(value * weight for value, weight in zip(known, weights, strict=True)) / sum(weights)


def unscored_notes(results: Mapping[str, PartResult]) -> tuple[str, ...]:
    """Say how many rollouts have no score and why, and how many scored ones were cut; () if there are none."""
    tasks = [task for part in results.values() for task in part.tasks]
    rollouts = sum(task.attempts for task in tasks)
    unscored = rollouts - sum(task.scored for task in tasks)
    context = sum(part.context for part in results.values())
    cut = sum(task.endings.get("truncated(length)", 0) for task in tasks)
    notes = []
    if context:
        notes.append(
            f"{context} of {rollouts} rollouts have no score: the task does not fit the context of the policy. A dash "
            "is a figure without a scored rollout."
        )
    if other := unscored - context:
        notes.append(f"{other} of {rollouts} rollouts failed through no fault of the policy and have no score.")
    if cut:
        notes.append(
            f"{cut} of {rollouts} rollouts were cut by the token limit of a turn or the context; scored as is."
        )
    return tuple(notes)
