"""Step labels by rule: turns with a newly met criterion are good."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Group, Task
from handaxe.ops.criteria import criteria_progress

__all__ = ["EarnedSteps", "earned_steps"]


def earned_steps(*, criteria: Callable[[Task], Sequence[Criterion]], check: Check) -> EarnedSteps:
    """Make a judge by rule: turns with a newly met criterion are good, all others are bad.

        r_k = 1 if turn k earns a criterion (met after it, not before, and all of its dependencies met before), else -1

    The rule knows the task's solution. In the paper a judge reads the rollout; `judges.noisy` adds errors to the rule's
    labels.

    Args:
        criteria: criteria of a task, such as a world's.
        check: criteria met after each turn, by rule or by a judge.

    Returns:
        A judge and StepJudge; the score of a rollout is the sum over its steps. It does not learn.

    Raises:
        InputError: the check does not give [C, N] bool. TaskError: see `ops.criteria.criteria_progress`.

    Example:
        criteria: search one, then search two, then the answer; turns: search one, search two, search one, the answer
        ->  1, 1, -1, 1, score 2

    Idea: exact step labels replace an annotator's labels; see arXiv:2507.23317 and arXiv:2511.10395.
    Unconfirmed: the definition of a correct thought in arXiv:2507.23317, of which the abstract alone was read.
    """
    return EarnedSteps(criteria, check)


class EarnedSteps:
    """Judge made by `earned_steps`."""

    def __init__(self, criteria: Callable[[Task], Sequence[Criterion]], check: Check):
        self._criteria = criteria
        self._check = check

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] for each sibling."""
        listed = list(self._criteria(group.task))
        earned = [criteria_progress(self._check, one, listed).earned_CN.any(axis=0) for one in group]
        return tuple(np.where(own, 1.0, -1.0) for own in earned)
