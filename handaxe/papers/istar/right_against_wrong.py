"""Prefer every attempt that is right to every attempt at the same task that is not."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, Rated

__all__ = ["right_against_wrong"]


def right_against_wrong(*, above: float = 0.5, channel: str | None = None) -> Pairs:
    """Make a pair of each right and each wrong sibling of a group.

        {(i, j) : R_i > above >= R_j},   strength R_i - R_j

    R_i is the outcome, without the per-turn rewards, which may be those of the judge that learns from the pairs. Who
    was not scored (outcome NaN) or wrote nothing is in no pair; whether a sibling trains the policy does not matter.

    Args:
        above: what right ones score more than, in units of reward.
        channel: compare this channel of the scores instead of the outcome.

    Returns:
        Pairs: [Rated] -> [Pair], group after group; within one by `sample` of the right, then of the wrong. A group
        that is all right, or all wrong, has none.

    Raises:
        InputError: a channel that some group lacks.

    Example:
        outcomes (1, 0, 1, 0)  ->  pairs (0, 1), (0, 3), (2, 1), (2, 3), each of strength 1

    Paper: arXiv:2509.19199 (iStar), pairs of successful and unsuccessful trajectories.
    Differs: nothing.
    """

    def pairs(rated: Sequence[Rated]) -> list[Pair]:
        return [pair for one in rated for pair in _pairs(one)]

    def _pairs(one: Rated) -> list[Pair]:
        if channel is not None and channel not in one.scores.channels:
            there = ", ".join(sorted(one.scores.channels)) or "none"
            raise InputError(f"the scores have no channel {channel!r}; there are {there}")
        value_G = one.scores.outcome if channel is None else one.scores.channels[channel]
        able = [i for i, trajectory in enumerate(one.group) if trajectory.num_tokens and not np.isnan(value_G[i])]
        able.sort(key=lambda i: (one.group[i].sample, one.group[i].id))
        right, wrong = [i for i in able if value_G[i] > above], [i for i in able if value_G[i] <= above]
        return [Pair(one.group[i], one.group[j], float(value_G[i] - value_G[j])) for i in right for j in wrong]

    return pairs
