"""Preference pairs of correct and wrong rollouts of one task."""

from collections.abc import Sequence

from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup
from handaxe.selection.pairs.ordered import siblings_with_values

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
        value_G, scored = siblings_with_values(one, channel)
        correct, wrong = [i for i in scored if value_G[i] > above], [i for i in scored if value_G[i] <= above]
        return [Pair(one.group[i], one.group[j], float(value_G[i] - value_G[j])) for i in correct for j in wrong]

    return pairs
