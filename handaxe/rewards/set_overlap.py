"""Compares a set that an attempt found with the one that was to be found."""

from collections.abc import Callable, Hashable, Iterable
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["Measure", "set_overlap"]

Measure = Literal["jaccard", "recall", "precision", "f1"]


def set_overlap(
    *,
    found: Callable[[Trajectory], Iterable[Hashable]],
    gold: Callable[[Task], Iterable[Hashable]],
    measure: Measure = "f1",
) -> Reward:
    """Give how far two sets agree.

        F = set(found(trajectory)), G = set(gold(task)), c = |F & G|
        jaccard c / |F | G|     recall c / |G|     precision c / |F|     f1 2 c / (|F| + |G|)

    Where F and G are both empty all four are 1; where one of them is, 0.

    Args:
        found: what an attempt found: documents it retrieved, tables its query names, words of its answer.
        gold: what there is to find.
        measure: which of these.

    Returns:
        A reward with outcome [G] in [0, 1].

    Raises:
        InputError: no such measure. What `found` or `gold` raise of this family, such as TaskError, passes through.

    Example:
        gold {1, 2, 3, 4}, found {2, 3, 9}  ->  recall 1/2, precision 2/3, f1 4/7 = 0.5714, jaccard 2/5

    Paper: arXiv:2503.23157 (Reasoning-SQL) and arXiv:2508.17608 (ChartMaster) by jaccard, arXiv:2510.27569
        (MARAG-R1) by f1.
    Differs: nothing.
    """
    if measure not in ("jaccard", "recall", "precision", "f1"):
        raise InputError(f"measure is {measure!r}; give jaccard, recall, precision or f1")

    def score(trajectory: Trajectory) -> float:
        have, want = set(found(trajectory)), set(gold(trajectory.task))
        if not have or not want:
            return float(not have and not want)
        common = len(have & want)
        return {
            "jaccard": common / len(have | want),
            "recall": common / len(want),
            "precision": common / len(have),
            "f1": 2 * common / (len(have) + len(want)),
        }[measure]

    return outcome(score)
