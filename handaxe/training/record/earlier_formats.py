"""Dispositions of groups in records of formats 1 to 5, which stored other columns instead.

    fate, left_out_by, scored, trained of a rollout, its ending and its id  ->  its dispositions

The order of decisions that the columns do not tell is the order of a step: play, reward, selection, surplus, update.
"""

import re
from collections.abc import Sequence
from typing import Any

from handaxe.core.endings import unscored_reason
from handaxe.core.records import Disposition, Dispositions, Trajectory
from handaxe.training.record.groups import Fate

__all__ = ["earlier_dispositions"]

RETRY = re.compile(r"\d+/retry-(\d+)(?:/|$)")


def earlier_dispositions(
    trajectories: Sequence[Trajectory], rows: Sequence[dict[str, Any]], *, fate: Fate, updated: bool
) -> tuple[Dispositions, ...]:
    """Reconstruct the dispositions of a group's rollouts.

    Args:
        trajectories: all rollouts of the group.
        rows: their rows, with scored, trained and, from format 5 on, left_out_by.
        fate: of the group.
        updated: whether the step took an optimiser step.

    Example:
        scored, not trained, left_out_by "mask_overlong", fate trained -> (masked by mask_overlong,)
    """
    scored = any(row["scored"] for row in rows)
    latest: dict[int, int] = {}
    for one in trajectories:
        latest[one.sample] = max(_retry(one), latest.get(one.sample, 0))
    return tuple(
        _of_scored(one, row, fate, updated)
        if row["scored"]
        else _of_unscored(one, fate, superseded=_retry(one) < latest[one.sample], scored=scored)
        for one, row in zip(trajectories, rows, strict=True)
    )


def _of_unscored(one: Trajectory, fate: Fate, *, superseded: bool, scored: bool) -> Dispositions:
    reason = unscored_reason(one.ending) or ("superseded" if superseded else "")
    found = (Disposition("unscored", reason),) if reason else ()
    if fate == "dropped":
        return (*found, Disposition("dropped", "on_ending"))
    # A rollout that ended in the instant of its group's decision is unscored beside scored siblings.
    return found or (Disposition("unscored", "stopped" if scored else "reward"),)


def _of_scored(one: Trajectory, row: dict[str, Any], fate: Fate, updated: bool) -> Dispositions:
    by, found = row.get("left_out_by"), list[Disposition]()
    if row["outcome"] is None:
        found.append(Disposition("unscored", "reward"))
    if fate == "unselected":
        found.append(Disposition("dropped", by or ""))
    elif by:
        found.append(Disposition("masked", by))
    elif not row["trained"] and fate == "trained":
        found.append(Disposition("masked", "on_ending" if by is not None or one.ending.kind == "truncated" else ""))
    if fate == "surplus":
        found.append(Disposition("surplus", "rounds"))
    if row["trained"] and updated:
        found.append(Disposition("trained"))
    return tuple(found)


def _retry(trajectory: Trajectory) -> int:
    """Number of the try, from 0. An id is STEP/TASK/SAMPLE, then /retry-N, then forks; task ids are free text."""
    found = RETRY.match(trajectory.id.partition(f"/{trajectory.task.id}/")[2])
    return int(found[1]) if found else 0
