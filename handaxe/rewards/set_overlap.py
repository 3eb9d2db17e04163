"""Compares a predicted set with the task's set."""

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
    """Measure the overlap of two sets.

        F = set(found(trajectory)), G = set(gold(task)), c = |F & G|
        jaccard c / |F | G|     recall c / |G|     precision c / |F|     f1 2 c / (|F| + |G|)

    All four are 1 if F and G are both empty, and 0 if one of them is.

    Args:
        found: set of a rollout: retrieved documents, tables of a query, words of an answer.
        gold: set of a task.
        measure: jaccard, recall, precision or f1.

    Returns:
        A reward with outcome [G] in [0, 1].

    Raises:
        InputError: an unknown measure. InputErrors of `found` or `gold`, such as TaskError, pass through.

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
