"""Scales probabilities of correct steps to [-1, 1]."""

import numpy as np

from handaxe.core.protocols import StepJudge
from handaxe.core.records import Group

__all__ = ["SignedSteps", "signed_steps"]


def signed_steps(*, judge: StepJudge) -> "SignedSteps":
    """Turn step scores p, probabilities of a correct step, into P(good) - P(bad).

        r_k = p_k - (1 - p_k) = 2 p_k - 1

    Args:
        judge: scores turns in [0, 1], such as `judges.reward_model(reads="turns", squash=True)`.

    Returns:
        A judge and StepJudge; the score of a rollout is the sum over its steps. It does not learn.

    Example:
        p = 0.9, 0.5, 0.2  ->  0.8, 0, -0.6, score 0.2

    Paper: arXiv:2504.15275 (PURE), scores of its process reward model.
    Differs: nothing.
    """
    return SignedSteps(judge)


class SignedSteps:
    """See `signed_steps`."""

    def __init__(self, judge: StepJudge):
        self._judge = judge

    def score(self, group: Group) -> np.ndarray:
        """[G]: sums over steps."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling, in [-1, 1]."""
        return tuple(2 * np.asarray(own, np.float64) - 1 for own in self._judge.score_steps(group))
