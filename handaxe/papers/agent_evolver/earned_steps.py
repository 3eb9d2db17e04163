"""Labels steps by rule: whether a turn earned one of the task's criteria."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Group, Task
from handaxe.ops.checklists import marks_of

__all__ = ["EarnedSteps", "earned_steps"]


def earned_steps(*, criteria: Callable[[Task], Sequence[Criterion]], check: Check) -> EarnedSteps:
    """Make a judge by rule: turns that earn a criterion are good, all others bad.

        r_k = 1 where turn k earns a criterion (is met after it, not before, and all that it comes after was), else -1

    A rule that knows the task's right way is no judge that read the attempt; it stands for one that errs only as
    `noisy` makes it err.

    Args:
        criteria: those of a task, such as a world's.
        check: which of them are met after each turn, by rule or by a judge.

    Returns:
        A judge and StepJudge; the score of an attempt is the sum over its steps. It learns nothing.

    Raises:
        InputError: the check does not give [C, N] bool. TaskError: see `ops.checklists.marks_of`.

    Example:
        criteria: search one, then search two, then the answer; turns: search one, search two, search one, the answer
        ->  1, 1, -1, 1, score 2

    Idea: exact labels of steps are what an annotator would say of them; see arXiv:2507.23317 and arXiv:2511.10395.
    Unconfirmed: what the first of these calls a right thought; its abstract alone was read.
    """
    return EarnedSteps(criteria, check)


class EarnedSteps:
    """See `earned_steps`."""

    def __init__(self, criteria: Callable[[Task], Sequence[Criterion]], check: Check):
        self._criteria = criteria
        self._check = check

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        listed = list(self._criteria(group.task))
        earned = [marks_of(self._check, one, listed).earned_CN.any(axis=0) for one in group]
        return tuple(np.where(own, 1.0, -1.0) for own in earned)
