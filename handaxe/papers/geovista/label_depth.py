"""Reward for a hierarchical label by its correct depth."""

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
    """Reward the finest correct level of a label.

        D_i = number of levels, from the coarsest, that agree before the first that does not
              (released: the position, from 1, of the finest level that agrees, regardless of coarser ones)
        R_i = beta^(D_i - 1) if D_i > 0, else 0

    Levels are compared without case and surrounding white space. A level counts only if all coarser ones agree: the
    right city in the wrong country earns nothing.

    Args:
        found: levels of a trajectory's answer, the coarsest first; an empty level agrees with nothing.
        gold: levels of the task.
        beta: factor between the rewards of two levels, > 1; 2 in the paper.
        released: use the form of the released code: the right city earns the most in any country.

    Returns:
        A reward with outcome [G] in {0, 1, beta, ..., beta^(levels - 1)}. No turn, or an empty answer: 0.

    Raises:
        InputError: beta not above 1. TaskError: a task without levels, or with an empty one.

    Example:
        gold (france, rhone, lyon), beta 2: (france, rhone, lyon) -> 4, (france, rhone, vienne) -> 2,
        (france, isere, lyon) -> 1, (spain, rhone, lyon) -> 0

    Paper: arXiv:2511.15705 (GeoVista), its hierarchical reward.
    Differs: labels are compared as text, not by a language model.
    """
    if not beta > 1:
        raise InputError(f"beta is {beta}; a finer level is worth more only above 1")

    def score(trajectory: Trajectory) -> float:
        reference = [_plain(level) for level in gold(trajectory.task)]
        if not reference or not all(reference):
            raise TaskError(f"task {trajectory.task.id!r} needs a label on every level: {reference}")
        agree = [_plain(level_found) == level for level_found, level in zip(found(trajectory), reference)]
        if released:
            depth = max((place for place, right in enumerate(agree, 1) if right), default=0)
        else:
            depth = [*agree, False].index(False)
        return beta ** (depth - 1) if depth else 0.0

    return outcome(score)


def _plain(level: str) -> str:
    return level.strip().casefold()
