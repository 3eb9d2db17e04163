"""Preference pairs of rollouts of one task with unequal outcomes.

Kept: pairs for reward models of users.
"""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup
from handaxe.ops.ragged import channel_values

__all__ = ["ordered", "siblings_with_values"]


def ordered(*, channel: str | None = None, most: int | None = None, gap: float = 0.0, ties: bool = False) -> Pairs:
    """Make a pair of every two siblings whose outcomes differ.

        {(i, j) : R_i - R_j > gap},   strength R_i - R_j;   with `ties` also {i, j : R_i = R_j}, strength 0

    Unscored siblings (outcome NaN) and siblings without a token are in no pair.

    Args:
        channel: compare this channel of the scores; None: their outcome.
        most: pairs of a group at most, the strongest first; None for all.
        gap: least difference, exclusive, in units of reward.
        ties: also pairs of equal outcomes.

    Returns:
        Pairs: [RatedGroup] -> [Pair], group after group; within a group the strongest first, then by `sample`.

    Raises:
        InputError: `most` below 1, a negative gap, or a group without the channel.

    Example:
        outcomes (1, 0, 0.5)  ->  (0, 1) of strength 1, (0, 2) and (2, 1) of strength 0.5

    Idea: Bradley-Terry data from graded answers to one question.
    Differs: nothing.
    """
    if gap < 0 or (most is not None and most < 1):
        raise InputError(f"give a gap from 0 and 1 pair or more, not {gap} and {most}")

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        return [pair for one in rated for pair in _pairs(one)]

    def _pairs(one: RatedGroup) -> list[Pair]:
        value_G, scored = siblings_with_values(one, channel)
        found = [
            Pair(one.group[i], one.group[j], float(value_G[i] - value_G[j]))
            for place, i in enumerate(scored)
            for other, j in enumerate(scored)
            if value_G[i] - value_G[j] > gap or (ties and value_G[i] == value_G[j] and place < other)
        ]
        found.sort(key=lambda pair: -pair.strength)
        return found[:most]

    return pairs


def siblings_with_values(rated: RatedGroup, channel: str | None = None) -> tuple[np.ndarray, list[int]]:
    """Values of the siblings, and the numbers of those with a value and a token, by `sample`.

    Raises:
        InputError: the scores have no such channel.
    """
    value_G = channel_values(rated.scores, channel)
    scored = [i for i, one in enumerate(rated.group) if one.num_tokens and not np.isnan(value_G[i])]
    return value_G, sorted(scored, key=lambda i: (rated.group[i].sample, rated.group[i].id))
