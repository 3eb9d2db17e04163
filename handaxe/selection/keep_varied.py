"""Keep the groups with the most varied rewards."""

from collections.abc import Sequence
from math import ceil

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup
from handaxe.ops.ragged import group_rewards
from handaxe.ops.returns import Std, standard_deviation
from handaxe.selection.parts.dispositions import drop

__all__ = ["keep_varied"]


def keep_varied(*, share: float = 0.75, channel: str | None = None, std: Std = "sample") -> Selector:
    """Keep a share of the groups, by largest standard deviation of rewards.

        k = ceil(share n);  keep a group when std(R) >= the k-th largest std(R) of the n groups

    R_i is the outcome plus the per-turn rewards, over all scored siblings, trained or not. Groups tied at the limit are
    all kept, so their order does not matter.

    Args:
        share: in (0, 1]; 0.75 in SPEAR's base algorithm.
        channel: use this channel of the scores instead of R. Without a channel of this name, the only channel named
            ".../NAME" by a wrapping reward is used.
        std: "sample" (n - 1) or "population" (n); with groups of unequal size it changes the ranks.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the groups kept, unchanged and in order. Fewer than two scored
        siblings, and rewards equal up to rounding, count as 0.

    Raises:
        InputError: a share out of range, a channel missing from a group, or scores that do not fit their group.

    Example:
        std 0.5, 0, 0.2, 0.4, share 0.75  ->  k = 3: the first, third and fourth

    Paper: arXiv:2509.22601 (SPEAR), Dr.BoT. Differs: ties.
    """
    if not 0 < share <= 1:
        raise InputError(f"keep_varied takes a share above 0 and up to 1, not {share}")

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        if not rated:
            return []
        spreads = []
        for one in rated:
            reward_G = group_rewards(one.group, one.scores, channel=channel)
            spreads.append(standard_deviation(reward_G[~np.isnan(reward_G)], std))
        limit = sorted(spreads, reverse=True)[ceil(share * len(spreads)) - 1]
        pairs = zip(rated, spreads, strict=True)
        return [one if spread >= limit else drop(one, by="keep_varied") for one, spread in pairs]

    return select
