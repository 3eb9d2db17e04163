"""Reward for the lowest step score of a process reward model."""

import numpy as np

from handaxe.core.protocols import Reward, StepJudge
from handaxe.core.records import Group, Scores
from handaxe.rewards.judged_steps import judged_steps

__all__ = ["lowest_step"]


def lowest_step(*, judge: StepJudge) -> Reward:
    """Score a rollout by its worst step.

        R_i = min over turns k of judge.score_steps(group)_i[k]        0 for a rollout without a turn

    Args:
        judge: scores turns; of the package judges or your own.

    Returns:
        A reward with outcome [G], in the units of the judge.

    Raises:
        VerifierError, InputError: as in `rewards.judged_steps`.

    Example:
        steps 0.9, -0.4, 1.0  ->  -0.4

    Paper: arXiv:2412.17256 (B-STaR), the process reward of a solution.
    Differs: nothing known.
    """
    steps = judged_steps(judge=judge)

    def reward(group: Group) -> Scores:
        turns = steps(group).turns or ()
        return Scores(np.array([own.min() if own.size else 0.0 for own in turns], np.float64))

    return reward
