"""Reward of a picture: the judge's Yes against other pictures, by a random criterion."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.ops.seeds import generator
from handaxe.papers.one_reward.tagged_judge import TaggedJudge
from handaxe.worlds.canvas.rollout_edits import last_picture, request_of

__all__ = ["chance_of_yes", "drawn_criterion"]


def chance_of_yes(score_G: np.ndarray) -> np.ndarray:
    """Mean probability of Yes for each picture against the others.

        R_i = mean over j != i of sigmoid(score_i - score_j)

    Returns:
        [G]; 1/2 for a lone picture.

    Example:
        scores 1 and 0  ->  0.73106 and 0.26894

    Paper: OneReward (paper 59), P(Yes) against a picture of a reference policy.
    Differs: the opponents are the other samples of the policy.
    """
    count = len(score_G)
    if count < 2:
        return np.full(count, 0.5)
    chance_GG = 1 / (1 + np.exp(np.subtract.outer(score_G, score_G).T))
    return np.asarray((chance_GG.sum(1) - 0.5) / (count - 1))


def drawn_criterion(*, judge: Callable[[], TaggedJudge], weights: Mapping[str, float], seed: int = 0) -> Reward:
    """Reward each picture by P(Yes) of a criterion, drawn by task.

        c ~ weights, one draw for a group;   R_i = mean over j != i of P(Yes | task, c, x_i, x_j)

    All siblings have one criterion, so that their rewards can be compared. The expected reward is the weighted mean of
    the criteria.

    Args:
        judge: returns the judge of pairs of pictures, the same at each call.
        weights: criterion -> weight, >= 0, with a positive sum.
        seed: of the draws.

    Returns:
        A reward with outcome [G], 0 to 1, and a channel for each criterion with the P(Yes) by it.

    Raises:
        InputError: a negative weight, or a sum of 0.

    Example:
        P(Yes) 0.8 and 0.4 by two criteria of equal weight: 0.8 or 0.4, 0.6 expected

    Paper: OneReward (paper 59), multi-task reinforcement learning with a random criterion.
    Differs: policy gradient in place of the gradient of a differentiable generator; one draw for a group.
    Unconfirmed: the draw of one criterion for each sample.
    """
    names = list(weights)
    weight_C = np.array([weights[name] for name in names], np.float64)
    if not len(names) or (weight_C < 0).any() or not weight_C.sum() > 0:
        raise InputError(f"weights of criteria are {dict(weights)}; give numbers from 0 with a sum above 0")
    share_C = weight_C / weight_C.sum()

    def reward(group: Group) -> Scores:
        pictures = [(last_picture(one), request_of(one.task)) for one in group]
        fitted = judge()
        chances = {name: chance_of_yes(fitted.scores(pictures, name)) for name in names}
        drawn = str(generator("criterion", seed, group.task.id).choice(names, p=share_C))
        return Scores(chances[drawn], channels=chances)

    return reward
