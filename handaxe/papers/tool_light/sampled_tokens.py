"""Cost and yield of the chains of a question: sampled tokens, and distinct chains."""

from collections.abc import Sequence

from handaxe.core.records import Trajectory

__all__ = ["distinct_chains", "sampled_tokens"]


def sampled_tokens(chains: Sequence[Trajectory]) -> int:
    """Count the policy's tokens of all chains, shared ones once.

        sum over chains of their tokens of the policy behind `branch_of` (all tokens without a branch)

    Args:
        chains: of one rollout, or independent ones.

    Returns:
        A number of tokens.

    Example:
        a main chain of 20 tokens, and a branch of 15 tokens that shares the first 6  ->  20 + 9 = 29

    Paper: arXiv:2509.23285 (Tool-Light), cost of entropy-guided sampling.
    Differs: nothing.
    """
    return sum(one.num_tokens - _shared(one) for one in chains)


def distinct_chains(chains: Sequence[Trajectory]) -> int:
    """Count the distinct chains by the policy's tokens of every turn.

    Example:
        turns (a, b), (a, b), (a, c)  ->  2
    """
    return len({tuple(_turn_ids(one)) for one in chains})


def _shared(one: Trajectory) -> int:
    if one.branch_of is None:
        return 0
    whole = sum(int(sequence.mask.sum()) for sequence in one.sequences[: one.branch_of.sequence])
    return whole + int(one.sequences[one.branch_of.sequence].mask[: one.branch_of.token].sum())


def _turn_ids(one: Trajectory) -> list[tuple[int, ...]]:
    return [tuple(map(int, one.sequences[turn.sequence].ids[turn.start : turn.stop])) for turn in one.turns]
