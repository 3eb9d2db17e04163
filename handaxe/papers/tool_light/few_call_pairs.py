"""Preference pairs of the pre-aligned stage: few calls and low entropy against more calls."""

from collections.abc import Sequence

from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup
from handaxe.papers.tool_light.chains import Sampled, read_chains

__all__ = ["few_call_pairs", "fewest_calls", "shortest_correct"]


def few_call_pairs() -> Pairs:
    """Make a pair of each question: a frugal correct chain against an incorrect chain that spends more.

        entropy tree    chosen    correct chain with the fewest calls, then with the lowest entropy
                        rejected  incorrect chain with more calls than the chosen one: the most calls, then the highest
                                  entropy
        other groups    chosen    shortest correct chain
                        rejected  longest incorrect chain, if it is longer than the chosen one

    Entropy is the mean of the step entropies, length the number of the policy's tokens. Remaining ties go to the first
    chain by `sample` and id. A question without such a chain on either side has no pair.

    Returns:
        Pairs: [RatedGroup] -> [Pair] of strength 1, at most one a group, in their order.

    Example:
        tree with correct chains of (calls, entropy) (2, 0.1), (1, 0.4), (1, 0.3) and incorrect chains of (1, 0.9),
        (2, 0.5), (3, 0.2)  ->  chosen (1, 0.3), rejected (3, 0.2)

    Paper: arXiv:2509.23285 (Tool-Light), criterion of the pre-aligned stage.
    Differs: nothing.
    Unconfirmed: which of several longer chains is rejected, the entropy of a chain, and the unit of length.
    """

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        read = [read_chains(one) for one in rated]
        found = [fewest_calls(one) if one.guided else shortest_correct(one) for one in read]
        return [pair for pair in found if pair is not None]

    return pairs


def fewest_calls(one: Sampled) -> Pair | None:
    """The pair of an entropy tree; None without one."""
    if not one.correct:
        return None
    best = min(one.correct, key=lambda chain: (chain.calls, chain.entropy))
    more = [chain for chain in one.incorrect if chain.calls > best.calls]
    if not more:
        return None
    worst = max(more, key=lambda chain: (chain.calls, chain.entropy))
    return Pair(best.trajectory, worst.trajectory)


def shortest_correct(one: Sampled) -> Pair | None:
    """The pair of independent samples; None without one."""
    if not one.correct:
        return None
    best = min(one.correct, key=lambda chain: chain.tokens)
    more = [chain for chain in one.incorrect if chain.tokens > best.tokens]
    if not more:
        return None
    worst = max(more, key=lambda chain: chain.tokens)
    return Pair(best.trajectory, worst.trajectory)
