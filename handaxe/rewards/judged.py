"""Rewards a rollout by the score of a judge.

Kept: a reward model as reward, for users and papers.
"""

from typing import Literal

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Judge, Reward
from handaxe.core.records import Group, Scores

__all__ = ["judged"]


def judged(*, judge: Judge, squash: Literal["none", "sigmoid"] = "none") -> Reward:
    """Take the score of a judge as the outcome.

        R_i = score_i,   or sigmoid(score_i)

    All siblings are scored in one call. The reward has no state: list a judge that learns in `learners` of `train`. In
    a step it scores with the weights of the step before.

    Args:
        judge: of the package judges or your own, such as `judges.reward_model`.
        squash: "sigmoid" maps a logit to (0, 1).

    Returns:
        A reward with outcome [G].

    Raises:
        VerifierError: scores are not finite; it names the trajectory.
        InputError: the judge does not give one number a rollout, or another word.

    Example:
        scores 1.5 and -0.5, sigmoid  ->  0.8176 and 0.3775

    Paper: arXiv:2508.05613 (Cooper), the reward of a verifier model with one logit.
    Differs: nothing.
    """
    if squash not in ("none", "sigmoid"):
        raise InputError(f"squash is 'none' or 'sigmoid', not {squash!r}")

    def reward(group: Group) -> Scores:
        score_G = np.array(judge.score(group), np.float64)
        if score_G.shape != (len(group),):
            raise InputError(f"{type(judge).__name__} gives scores of shape {score_G.shape} for {len(group)} rollouts")
        for one, score in zip(group, score_G, strict=True):
            if not np.isfinite(score):
                raise VerifierError(f"trajectory {one.id!r} was given the score {score}", trajectory=one.id)
        return Scores(1 / (1 + np.exp(-score_G)) if squash == "sigmoid" else score_G)

    return reward
