"""A limited number of preferences between rollouts, spread over groups."""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup

__all__ = ["preference_queries"]


def preference_queries(*, pairs: Pairs, queries: int) -> Pairs:
    """Take the first pair of each group, then the second of each, by the ids of tasks, up to a number of pairs.

    Args:
        pairs: of a group, in order.
        queries: most pairs in total, >= 1.

    Returns:
        Pairs: [RatedGroup] -> [Pair].

    Raises:
        InputError: `queries` is below 1.

    Example:
        groups with pairs a, b, c and d, e; 4 queries -> a, d, b, e

    Paper: arXiv:2410.17233 (ICPL), the limit of preference queries in the comparison with PrefPPO.
    Differs: every query has two unequal rollouts of one task; the paper asks where an ensemble of reward models
        disagrees, and some answers are ties.
    """
    if queries < 1:
        raise InputError(f"queries is {queries}; give 1 or more")

    def chosen(rated: Sequence[RatedGroup]) -> list[Pair]:
        ranked = [(place, pair) for one in rated for place, pair in enumerate(pairs([one]))]
        ranked.sort(key=lambda own: (own[0], own[1].chosen.task.id))
        return [pair for _, pair in ranked[:queries]]

    return chosen
