"""Preference pairs of the self-evolved stage: fewer calls on easy questions, longer chains on hard ones."""

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup
from handaxe.papers.tool_light.chains import Sampled, read_chains
from handaxe.papers.tool_light.few_call_pairs import fewest_calls

__all__ = ["mixed", "self_evolved_pairs"]


def self_evolved_pairs(*, hard_below: float = 0.5, hard_per_easy: int = 2) -> Pairs:
    """Make a pair of each question, by the policy's accuracy on the question.

        easy (accuracy >= hard_below)   as `few_call_pairs` of an entropy tree
        hard (accuracy < hard_below)    longest correct chain against the shortest incorrect chain
        mix                             E' = min(E, ceil(H / m)) easy pairs and H' = min(H, m E) hard pairs

    E and H are the numbers of easy and hard pairs, m is `hard_per_easy`. The mix takes pairs in the order of their task
    ids; without an easy pair, or without a hard one, all pairs of the other kind are taken.

    Args:
        hard_below: in [0, 1].
        hard_per_easy: m, >= 1; 2 in the paper.

    Returns:
        Pairs: [RatedGroup] -> [Pair] of strength 1, at most one a group, by task id.

    Raises:
        InputError: an argument out of range.

    Example:
        accuracy 1/3, correct chains of 9 tokens, incorrect chains of 4 and 12  ->  chosen 9, rejected 4
        3 easy and 4 hard pairs  ->  2 easy and 4 hard;  3 easy and 9 hard  ->  3 easy and 6 hard

    Paper: arXiv:2509.23285 (Tool-Light), criterion of the self-evolved stage.
    Differs: nothing.
    Unconfirmed: the threshold of hard questions, the unit of length, and the mix of pairs instead of questions.
    """
    if not 0 <= hard_below <= 1 or hard_per_easy < 1:
        raise InputError(
            f"self_evolved_pairs has hard_below={hard_below} and hard_per_easy={hard_per_easy}; give a share from 0 to "
            "1 and a number from 1"
        )

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        read = [read_chains(one) for one in rated]
        easy = [pair for one in read if one.accuracy >= hard_below and (pair := fewest_calls(one)) is not None]
        hard = [pair for one in read if one.accuracy < hard_below and (pair := _longest(one)) is not None]
        return mixed(easy, hard, hard_per_easy)

    return pairs


def mixed(easy: Sequence[Pair], hard: Sequence[Pair], hard_per_easy: int) -> list[Pair]:
    """Take pairs of both kinds in the ratio of the mix, by task id."""
    easy = sorted(easy, key=_name)
    hard = sorted(hard, key=_name)
    if easy and hard:
        most = hard_per_easy * len(easy)
        easy = easy[: -(-len(hard) // hard_per_easy)]
        hard = hard[:most]
    return sorted([*easy, *hard], key=_name)


def _name(pair: Pair) -> tuple[str, str]:
    return pair.chosen.task.id, pair.chosen.id


def _longest(one: Sampled) -> Pair | None:
    if not one.correct or not one.incorrect:
        return None
    best = max(one.correct, key=lambda chain: chain.tokens)
    worst = min(one.incorrect, key=lambda chain: chain.tokens)
    return Pair(best.trajectory, worst.trajectory)
