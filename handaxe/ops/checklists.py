"""Criteria of an attempt, turn by turn: which are met, which are earned, and in which of the user's turns.

    criteria c1 (nothing before it) and c2 (after c1); c1 met after turn 1, c2 after turn 2
    turn        0      1      2
    met         . .    c1 .   c1 c2
    earned      . .    c1 .   .  c2        met first after this turn, and all that it comes after was met before it
    open        c1 .   c1 .   .  c2        could still be earned in this turn

A criterion that is met before what it comes after is never earned.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Trajectory
from handaxe.ops.spoken import spoken_at

__all__ = ["Marks", "marks_of", "told_of", "user_parts"]


class Marks(NamedTuple):
    """[C, N] bool each; see the module. Once met is met for good."""

    met_CN: np.ndarray
    earned_CN: np.ndarray
    open_CN: np.ndarray


def user_parts(trajectory: Trajectory) -> np.ndarray:
    """[N] int: which of the user's turns each turn of the policy answers, from 0. A user who speaks once has one part.

    What a rollout says in the user's role (messages with a name) begins no part. A rollout that leaves turns out of the
    messages has one part, too.
    """
    spoken = spoken_at(trajectory.messages, turns=len(trajectory.turns))
    if len(spoken) < len(trajectory.turns):
        return np.zeros(len(trajectory.turns), int)
    parts, part = [], 0
    for n, place in enumerate(spoken):
        if n:
            between = trajectory.messages[spoken[n - 1] + 1 : place]
            part += any(message.role == "user" and not message.name for message in between)
        parts.append(part)
    return np.array(parts, int)


def told_of(check: Check, trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
    """[C, N] bool: what a check says of each criterion and turn, as it says it.

    Raises:
        InputError: the check does not give [C, N] bool. TaskError: two criteria of one name, or one that comes after
            another that does not exist.
    """
    names = {one.name for one in criteria}
    unknown = {name for one in criteria for name in one.after} - names
    if len(names) < len(criteria) or unknown:
        raise TaskError(
            f"task {trajectory.task.id!r} has criteria {[one.name for one in criteria]} "
            f"and some that come after {sorted(unknown)}: give each a name of its own, and name those that there are"
        )
    shape = (len(criteria), len(trajectory.turns))
    said = np.asarray(check(trajectory, criteria))
    if said.shape != shape or said.dtype != bool:
        raise InputError(f"the check gave {said.dtype} {said.shape} for trajectory {trajectory.id!r}, not bool {shape}")
    return said


def marks_of(check: Check, trajectory: Trajectory, criteria: Sequence[Criterion]) -> Marks:
    """What is met, earned and open of the criteria after each turn of a trajectory.

    Raises:
        InputError, TaskError: as `told_of`.
    """
    met_CN = np.logical_or.accumulate(told_of(check, trajectory, criteria), axis=1)
    place = {one.name: c for c, one in enumerate(criteria)}
    before_CN = np.zeros(met_CN.shape, bool)
    before_CN[:, 1:] = met_CN[:, :-1]
    ready_CN = np.array([before_CN[[place[name] for name in one.after]].all(0) for one in criteria], bool)
    here_CN = np.array([one.part for one in criteria], int)[:, None] == user_parts(trajectory)
    open_CN = ready_CN.reshape(met_CN.shape) & here_CN & ~before_CN
    return Marks(met_CN, open_CN & met_CN, open_CN)
