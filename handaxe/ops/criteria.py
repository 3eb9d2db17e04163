"""Progress of a trajectory's criteria by turn: met, earned and open.

    criteria c1 (no prerequisite) and c2 (after c1); c1 met after turn 1, c2 after turn 2
    turn        0      1      2
    met         . .    c1 .   c1 c2
    earned      . .    c1 .   .  c2        first met after this turn, all prerequisites met before it
    open        c1 .   c1 .   .  c2        could still be earned in this turn

A criterion that is met before its prerequisites is never earned.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Trajectory
from handaxe.ops.turn_positions import turn_positions

__all__ = ["CriteriaProgress", "apply_check", "criteria_progress", "met_shares", "user_turn_indices"]


class CriteriaProgress(NamedTuple):
    """Three [C, N] bool arrays; see the module. A criterion stays met once it is met."""

    met_CN: np.ndarray
    earned_CN: np.ndarray
    open_CN: np.ndarray


def user_turn_indices(trajectory: Trajectory) -> np.ndarray:
    """Find the index of the user turn that each turn of the policy answers: [N] int, from 0.

    A user with a single message gives index 0 throughout. User messages with a name come from the rollout strategy and
    start no new index. A trajectory with fewer messages than turns has index 0 throughout.
    """
    positions = turn_positions(trajectory.messages, turns=len(trajectory.turns))
    if len(positions) < len(trajectory.turns):
        return np.zeros(len(trajectory.turns), int)
    indices, index = [], 0
    for n, position in enumerate(positions):
        if n:
            between = trajectory.messages[positions[n - 1] + 1 : position]
            index += any(message.role == "user" and not message.name for message in between)
        indices.append(index)
    return np.array(indices, int)


def apply_check(check: Check, trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """Evaluate a check: its raw [C, N] bool result for each criterion and turn.

    Raises:
        InputError: the check does not return [C, N] bool.
        TaskError: two criteria share a name, or a prerequisite does not exist.
    """
    names = {criterion.name for criterion in criteria}
    unknown = {name for criterion in criteria for name in criterion.after} - names
    if len(names) < len(criteria) or unknown:
        raise TaskError(
            f"task {trajectory.task.id!r} has criteria {[criterion.name for criterion in criteria]} with unknown "
            f"prerequisites {sorted(unknown)}: give criteria different names, and name existing ones in `after`"
        )
    shape = (len(criteria), len(trajectory.turns))
    met_CN = np.asarray(check(trajectory, criteria))
    if met_CN.shape != shape or met_CN.dtype != bool:
        raise InputError(
            f"the check returned {met_CN.dtype} {met_CN.shape} for trajectory {trajectory.id!r}; it must return bool "
            f"{shape}"
        )
    return met_CN


def met_shares(check: Check, pairs: Iterable[tuple[Sequence[Criterion], Trajectory]]) -> dict[str, float]:
    """Compute the share of rollouts that meet each criterion, by name.

    Args:
        check: of criteria.
        pairs: a rollout and the criteria that concern it.

    Returns:
        Name -> share of the rollouts with this criterion that meet it after some turn; a rollout without turns meets
        nothing.

    Raises:
        InputError, TaskError: as in `apply_check`.

    Example:
        met by 1 of 4 rollouts  ->  0.25
    """
    met: dict[str, list[bool]] = {}
    for criteria, one in pairs:
        for criterion, own in zip(criteria, apply_check(check, one, criteria), strict=True):
            met.setdefault(criterion.name, []).append(bool(own.any()))
    return {name: float(np.mean(own)) for name, own in met.items()}


def criteria_progress(check: Check, trajectory: Trajectory, criteria: Sequence[Criterion]) -> CriteriaProgress:
    """Compute met, earned and open criteria after each turn of a trajectory.

    Raises:
        InputError, TaskError: as in `apply_check`.
    """
    met_CN = np.logical_or.accumulate(apply_check(check, trajectory, criteria), axis=1)
    index = {criterion.name: c for c, criterion in enumerate(criteria)}
    before_CN = np.zeros(met_CN.shape, bool)
    before_CN[:, 1:] = met_CN[:, :-1]
    ready_CN = np.array([before_CN[[index[name] for name in criterion.after]].all(0) for criterion in criteria], bool)
    current_CN = np.array([criterion.part for criterion in criteria], int)[:, None] == user_turn_indices(trajectory)
    open_CN = ready_CN.reshape(met_CN.shape) & current_CN & ~before_CN
    return CriteriaProgress(met_CN, open_CN & met_CN, open_CN)
