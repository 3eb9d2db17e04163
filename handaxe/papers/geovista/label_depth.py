"""Rewards a label in a hierarchy for how deep it is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["label_depth"]


def label_depth(
    *,
    found: Callable[[Trajectory], Sequence[str]],
    gold: Callable[[Task], Sequence[str]],
    beta: float = 2.0,
    released: bool = False,
) -> Reward:
    """Give more, the finer the level to which a label is right.

        D_i = the number of levels, from the coarsest, that agree before the first that does not
              (released: the place, from 1, of the finest level that agrees, whatever the coarser ones say)
        R_i = beta^(D_i - 1) if D_i > 0, else 0

    Levels are compared without regard to case and outer white space. A level counts only where all coarser ones agree:
    the right city in the wrong country is worth nothing.

    Args:
        found: the levels that an attempt says, the coarsest first; what is empty agrees with nothing.
        gold: those of the task.
        beta: how much a level more is worth, > 1; 2 in the paper.
        released: as the released code does it: the right city is worth the most, in whatever country it is said to be.

    Returns:
        A reward with outcome [G] in {0, 1, beta, ..., beta^(levels - 1)}. No turn, or nothing said: 0.

    Raises:
        InputError: beta not above 1. TaskError: a task without levels, or with one that is empty.

    Example:
        gold (france, rhone, lyon), beta 2: (france, rhone, lyon) -> 4, (france, rhone, vienne) -> 2,
        (france, isere, lyon) -> 1, (spain, rhone, lyon) -> 0

    Paper: arXiv:2511.15705 (GeoVista), its hierarchical reward.
    Differs: labels are compared as text, and not by a language model.
    """
    if not beta > 1:
        raise InputError(f"beta is {beta}; a finer level is worth more only above 1")

    def score(trajectory: Trajectory) -> float:
        wanted = [_plain(level) for level in gold(trajectory.task)]
        if not wanted or not all(wanted):
            raise TaskError(f"task {trajectory.task.id!r} needs a label on every level: {wanted}")
        agree = [_plain(said) == level for said, level in zip(found(trajectory), wanted)]
        if released:
            depth = max((place for place, right in enumerate(agree, 1) if right), default=0)
        else:
            depth = [*agree, False].index(False)
        return beta ** (depth - 1) if depth else 0.0

    return outcome(score)


def _plain(level: str) -> str:
    return level.strip().casefold()
