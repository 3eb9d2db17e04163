"""Rewards the points of met rubric criteria."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Check, Reward
from handaxe.core.records import Criterion, Task, Trajectory
from handaxe.ops.criteria import criteria_progress
from handaxe.rewards.outcome import outcome

__all__ = ["Aggregate", "rubric_points"]

Aggregate = Literal["points", "mean", "all"]
Items = Callable[[Trajectory], Sequence[Criterion]]


def rubric_points(
    *,
    check: Check,
    criteria: Callable[[Task], Sequence[Criterion]] | None = None,
    items: Items | None = None,
    aggregate: Aggregate = "points",
    without: float = 1.0,
) -> Reward:
    """Give the share of a rubric's points earned by the end of the rollout.

        points   R = max(sum_c points_c m_c, 0) / sum_c max(points_c, 0)
        mean     R = (1 / C) sum_c m_c
        all      R = 1 if every m_c = 1, else 0

    m_c is 1 if criterion c is met after some turn. A met criterion stays met, also one with negative points. The order
    of criteria (`Criterion.after`) has no effect here; `papers.cm2.checklist` reads it.

    Args:
        check: criteria met after each turn, by rule or by a judge.
        criteria: of a task, such as a world's. Give these or `items`.
        items: of a rollout, such as one for each of its replies, or `papers.scribe.skill_items`.
        aggregate: "points" in RuscaRL and, by items of a segment each, in SCRIBE; "all" or "mean" in DeepTravel.
        without: the reward of a rollout without items.

    Returns:
        A reward with outcome [G] in [0, 1]. A rollout without a turn meets nothing.

    Raises:
        InputError: criteria and items both or neither, another aggregate, a check that does not give [C, N] bool.
        TaskError: two criteria with one name; no positive points; a task without criteria.

    Example:
        points 5, 3 and -2, met the first and the last  ->  (5 - 2) / 8 = 0.375, mean 0.6667, all 0
        met the last alone  ->  0, and not -0.25

    Paper: arXiv:2508.16949 (RuscaRL), its rubric score; arXiv:2509.21842 (DeepTravel), the verifier of turns;
    arXiv:2601.03555 (SCRIBE), the mid-level reward.
    Unconfirmed: the cut at 0 of RuscaRL; DeepTravel's product, where "mean" is the other reading; SCRIBE's mean of
    segments.
    Differs: criteria may be checked by rule, where all three papers use a language model.
    """
    if (criteria is None) == (items is None) or aggregate not in ("points", "mean", "all"):
        raise InputError(
            "rubric_points takes criteria or items, one of the two, and the aggregate points, mean or all, not "
            f"{aggregate!r}"
        )

    def score(trajectory: Trajectory) -> float:
        listed = list(items(trajectory) if items is not None else _of_task(criteria, trajectory.task))
        if not listed:
            return without
        met_C = criteria_progress(check, trajectory, listed).met_CN.any(axis=1)
        if aggregate != "points":
            return float(met_C.all() if aggregate == "all" else met_C.mean())
        points_C = np.array([one.points for one in listed], np.float64)
        most = points_C.clip(min=0).sum()
        if not most > 0:
            raise TaskError(f"task {trajectory.task.id!r} has no criterion with positive points: {points_C.tolist()}")
        return float(max(points_C @ met_C, 0.0) / most)

    return outcome(score)


def _of_task(criteria: Callable[[Task], Sequence[Criterion]] | None, task: Task) -> Sequence[Criterion]:
    listed = list(criteria(task)) if criteria is not None else []
    if not listed:
        raise TaskError(f"task {task.id!r} has no criterion; rubric_points needs one or more")
    return listed
