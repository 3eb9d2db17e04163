"""Leave-one-out credit: the mean of the other siblings is the baseline."""

from typing import Literal

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import group_rewards, scatter_group, statistics_mask
from handaxe.ops.returns import LoneReward, standardise

__all__ = ["leave_one_out"]


def leave_one_out(
    *, channel: str | None = None, stats_over: Literal["all", "eligible"] = "all", lone: LoneReward = "zero"
) -> Credit:
    """Give every sampled token the trajectory's reward minus the mean reward of the other siblings.

        A_i,t = R_i - 1/(G-1) sum_{j != i} R_j = G/(G-1) (R_i - mean(R))        for sampled tokens t
        A_i,t = 0                                                               for prompt, template and tool tokens

    R_i is the outcome plus the per-turn rewards. The baseline is independent of trajectory i, so the expected gradient
    is exact.

    Args:
        channel: use this channel of the scores instead of the total reward.
        stats_over: "all" scored siblings, or the siblings of `Scores.eligible`; the others then get 0.
        lone: advantage of a single counted sibling: "zero", or its own "reward" (the formula with an empty sum).

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Rewards equal up to rounding give exactly 0; an
        unscored sibling (outcome NaN) gets 0 and counts nowhere.

    Raises:
        InputError: an unknown channel or `stats_over`, and scores that do not fit the group or are infinite.

    Example:
        rewards 1, 0, 0, 0  ->  1, -1/3, -1/3, -1/3

    Paper: arXiv:2402.14740, section 2.2 (RLOO). Differs: a lone sibling gets 0 by default.
    """

    def credit(group: Group, scores: Scores) -> Advantages:
        reward_G = group_rewards(group, scores, channel=channel)
        counted_G = statistics_mask(group, scores, reward_G, stats_over)
        size = int(np.sum(counted_G))
        centred_G = standardise(reward_G, counted_G, std=None, lone=lone)
        return Advantages(scatter_group(group, centred_G * (size / (size - 1) if size > 1 else 1.0)))

    return credit
