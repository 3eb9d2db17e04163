"""Credit with a constant baseline: the reward minus a constant."""

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import group_rewards, scatter_group

__all__ = ["constant_baseline"]


def constant_baseline(*, baseline: float = 0.0) -> Credit:
    """Give every sampled token the trajectory's reward minus a constant.

        A_i,t = R_i - b        for sampled tokens t of trajectory i
        A_i,t = 0              for prompt, template and tool tokens

    R_i is the outcome plus the per-turn rewards. Siblings are independent of each other, so equal rewards keep their
    gradient.

    Args:
        baseline: b, in units of reward. The expected gradient is the same for any constant.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. A single sibling is treated like several; an
        unscored one (outcome NaN) gets zeros; a trajectory without turns has no sampled token.

    Raises:
        InputError: scores that do not fit the group or are infinite.

    Example:
        reward 1, baseline 0.25  ->  0.75 on each sampled token; with log-prob -0.5 the loss -A * logp is 0.375

    Paper: Williams, 1992, Simple statistical gradient-following algorithms, equation 11. Differs: nothing.
    """

    def credit(group: Group, scores: Scores) -> Advantages:
        reward_G = group_rewards(group, scores)
        return Advantages(scatter_group(group, np.where(np.isnan(reward_G), 0.0, reward_G - baseline)))

    return credit
