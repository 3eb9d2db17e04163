"""Scale advantages up by the share of groups that teach something."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Shape
from handaxe.core.records import Rated
from handaxe.ops.ragged import multiplied, rewards_of
from handaxe.ops.returns import deviation

__all__ = ["rescale_by_informative_groups"]


def rescale_by_informative_groups(*, channel: str | None = None) -> Shape:
    """Make up for groups of equal rewards, which count in the loss's denominators and move nothing.

        A'_i,t = A_i,t * B / B_good        B groups in the batch, of which B_good have std(R) > 0

    R_i is the outcome plus the per-turn rewards of every sibling that was scored, whether or not it trains. It changes
    nothing where groups of equal rewards are left out before (`selection.drop_equal_groups`). Value targets, channels
    and what trains stay as they are.

    Args:
        channel: look at this channel of the scores instead of the whole reward; where there is none of that name, at
            the only one that a reward around it calls ".../NAME".

    Returns:
        A shape: [Rated] -> [Rated], the same groups in the same order. Rewards equal up to rounding have no spread, nor
        has a lone sibling. Where no group has any, nothing is changed.

    Raises:
        InputError: a channel that some group lacks, and scores that do not fit their group.

    Example:
        8 groups, 2 of them of equal rewards: an advantage of 0.75  ->  0.75 * 8 / 6 = 1.0

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), RAPO's reward-aware advantage scaling.
    Unconfirmed: the form of the scale.
    Differs: nothing known.
    """

    def shape(rated: Sequence[Rated]) -> list[Rated]:
        useful = sum(_differs(one, channel) for one in rated)
        if not useful:
            return list(rated)
        scale = len(rated) / useful
        return [
            replace(one, advantages=replace(one.advantages, tokens=multiplied(one.advantages.tokens, scale)))
            for one in rated
        ]

    return shape


def _differs(one: Rated, channel: str | None) -> bool:
    reward_G = rewards_of(one.group, one.scores, channel=channel)
    return deviation(reward_G[~np.isnan(reward_G)]) > 0
