"""Advantage transform by the share of groups with a gradient."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup
from handaxe.ops.ragged import group_rewards, scale_tokens
from handaxe.ops.returns import standard_deviation

__all__ = ["rescale_by_informative_groups"]


def rescale_by_informative_groups(*, channel: str | None = None) -> AdvantageTransform:
    """Compensate for groups of equal rewards: a share of the loss's denominators without a gradient.

        A'_i,t = A_i,t * B / B_good        B groups in the batch, of which B_good have std(R) > 0

    R_i is the outcome plus the per-turn rewards of every scored sibling, trained or not. It changes nothing if groups
    of equal rewards were dropped before (`selection.drop_equal_groups`). Value targets, channels and masks stay as they
    are.

    Args:
        channel: score channel in place of the whole reward; without a channel of that name, the only one that a
            wrapping reward names ".../NAME".

    Returns:
        An advantage transform: rated groups -> rated groups, in the same order. Rewards equal up to rounding, and a
        lone sibling, have no spread. If no group has any, nothing changes.

    Raises:
        InputError: a channel that some group lacks, and scores that do not fit their group.

    Example:
        8 groups, 2 of them of equal rewards: an advantage of 0.75  ->  0.75 * 8 / 6 = 1.0

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), RAPO's reward-aware advantage scaling.
    Unconfirmed: the form of the scale.
    Differs: nothing known.
    """

    def shape(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        informative = sum(_differs(one, channel) for one in rated)
        if not informative:
            return list(rated)
        scale = len(rated) / informative
        return [
            replace(one, advantages=replace(one.advantages, tokens=scale_tokens(one.advantages.tokens, scale)))
            for one in rated
        ]

    return shape


def _differs(one: RatedGroup, channel: str | None) -> bool:
    reward_G = group_rewards(one.group, one.scores, channel=channel)
    return standard_deviation(reward_G[~np.isnan(reward_G)]) > 0
