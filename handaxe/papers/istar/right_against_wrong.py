"""Preference pairs of correct and wrong rollouts of one task."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup

__all__ = ["right_against_wrong"]


def right_against_wrong(*, above: float = 0.5, channel: str | None = None) -> Pairs:
    """Make a pair of each correct and each wrong sibling of a group.

        {(i, j) : R_i > above >= R_j},   strength R_i - R_j

    R_i is the outcome, without per-turn rewards, which may come from the judge that learns from the pairs. Unscored
    siblings (outcome NaN) and siblings without a token are in no pair; masked siblings are.

    Args:
        above: correct siblings score more than this, in units of reward.
        channel: compare this channel of the scores instead of the outcome.

    Returns:
        Pairs: [RatedGroup] -> [Pair], group after group; within a group by `sample` of the correct one, then of the
            wrong one. A
        group without both kinds has none.

    Raises:
        InputError: a group lacks the channel.

    Example:
        outcomes (1, 0, 1, 0)  ->  pairs (0, 1), (0, 3), (2, 1), (2, 3), each of strength 1

    Paper: arXiv:2509.19199 (iStar), pairs of successful and unsuccessful trajectories.
    Differs: nothing.
    """

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        return [pair for one in rated for pair in _pairs(one)]

    def _pairs(one: RatedGroup) -> list[Pair]:
        if channel is not None and channel not in one.scores.channels:
            channels = ", ".join(sorted(one.scores.channels)) or "none"
            raise InputError(f"the scores have no channel {channel!r}; there are {channels}")
        value_G = one.scores.outcome if channel is None else one.scores.channels[channel]
        scored = [i for i, trajectory in enumerate(one.group) if trajectory.num_tokens and not np.isnan(value_G[i])]
        scored.sort(key=lambda i: (one.group[i].sample, one.group[i].id))
        correct, wrong = [i for i in scored if value_G[i] > above], [i for i in scored if value_G[i] <= above]
        return [Pair(one.group[i], one.group[j], float(value_G[i] - value_G[j])) for i in correct for j in wrong]

    return pairs
