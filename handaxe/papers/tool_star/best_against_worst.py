"""Preference pair of the best and the worst rollout of a group."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup
from handaxe.ops.ragged import group_rewards

__all__ = ["best_against_worst"]


def best_against_worst(*, gap: float = 0.0, channel: str | None = None) -> Pairs:
    """Make one pair of each group with a reward range above `gap`.

        (argmax_i R_i, argmin_i R_i)   if  max R - min R > gap,   strength max R - min R

    R_i is the outcome plus the per-turn rewards, over siblings that are scored, trained (`trained`) and not empty. Ties
    go to the lower `sample`, independent of the order of siblings.

    Args:
        gap: in units of reward, >= 0.
        channel: compare this channel of the scores instead; if it does not exist, the only channel named ".../NAME" by
            an outer reward.

    Returns:
        Pairs: [RatedGroup] -> [Pair], at most one a group, in their order.

    Raises:
        InputError: a negative gap, a channel that some group lacks, and scores that do not fit their group.

    Example:
        rewards (0, 1, 0.5) and (1, 1)  ->  one pair, of siblings 1 and 0 of the first group, strength 1

    Idea: best against worst of a sampled group, common where preferences come from scores, such as arXiv:2405.00451,
    and in later rounds of iterated DPO.
    """
    if gap < 0:
        raise InputError(f"best_against_worst takes a gap of at least 0, not {gap}")

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        return [pair for one in rated if (pair := _pair(one)) is not None]

    def _pair(one: RatedGroup) -> Pair | None:
        reward_G = group_rewards(one.group, one.scores, channel=channel)
        able = [
            i
            for i, trajectory in enumerate(one.group)
            if one.trained[i] and trajectory.num_tokens and not np.isnan(reward_G[i])
        ]
        able.sort(key=lambda i: (one.group[i].sample, one.group[i].id))
        if not able:
            return None
        best, worst = max(able, key=lambda i: reward_G[i]), min(able, key=lambda i: reward_G[i])
        strength = float(reward_G[best] - reward_G[worst])
        return Pair(one.group[best], one.group[worst], strength) if strength > gap else None

    return pairs
