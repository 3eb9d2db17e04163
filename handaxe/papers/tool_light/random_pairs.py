"""Preference pairs of a random correct and a random incorrect chain: the comparison of the pair criteria."""

from collections.abc import Sequence

from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup
from handaxe.ops.seeds import generator
from handaxe.papers.tool_light.chains import Sampled, read_chains

__all__ = ["random_pairs"]


def random_pairs(*, seed: int = 0) -> Pairs:
    """Make a pair of each question: a random correct chain against a random incorrect one.

    Args:
        seed: of the draws; a draw also depends on the ids of the first correct and the first incorrect chain.

    Returns:
        Pairs: [RatedGroup] -> [Pair] of strength 1, at most one a group, in their order.

    Example:
        3 correct and 2 incorrect chains  ->  each of 6 pairs with probability 1/6

    Paper: arXiv:2509.23285 (Tool-Light), the comparison with random positive and negative chains.
    Differs: both sides are random; the paper replaces one side at a time.
    """

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        read = [read_chains(one) for one in rated]
        return [_pair(one, seed) for one in read if one.correct and one.incorrect]

    return pairs


def _pair(one: Sampled, seed: int) -> Pair:
    first = one.correct[0].trajectory
    rng = generator(seed, "pair", first.task.id, first.id, one.incorrect[0].trajectory.id)
    best = one.correct[rng.integers(len(one.correct))]
    worst = one.incorrect[rng.integers(len(one.incorrect))]
    return Pair(best.trajectory, worst.trajectory)
