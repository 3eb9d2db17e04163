"""Fusion of the rankings of several queries, with coverage of every sub-query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError
from handaxe.tools.index.fusion import reciprocal_rank_fusion

__all__ = ["cover_subqueries", "fuse_variations", "rerank_candidates", "union_by_rank"]


def fuse_variations(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Fuse the rankings of one sub-query's variations by reciprocal ranks (constant 60).

    Example:
        a b and b c  ->  b, a, c
    """
    names = sorted({name for own in rankings for name in own})
    numbers = {name: number for number, name in enumerate(names)}
    fused = reciprocal_rank_fusion([[numbers[name] for name in own] for own in rankings])
    return [names[number] for number, _ in fused]


def union_by_rank(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Merge the rankings of sub-queries without duplicates, by the best rank of a tool; ties by the order of rankings.

    Args:
        rankings: tools of each sub-query, best first, without duplicates.

    Returns:
        Every tool once.

    Example:
        a c d and b c e  ->  a, b, c, d, e

    Paper: arXiv:2410.14594 (Toolshed), union of the retrieved tools of all queries.
    Differs: nothing known.
    Unconfirmed: the order of the union.
    """
    first: dict[str, tuple[int, int]] = {}
    for number, own in enumerate(rankings):
        for rank, name in enumerate(own):
            first[name] = min(first.get(name, (rank, number)), (rank, number))
    return sorted(first, key=lambda name: first[name])


def rerank_candidates(
    candidates: Sequence[str], subqueries: Sequence[str], similarity: Callable[[str, Sequence[str]], Sequence[float]]
) -> list[list[str]]:
    """Rank the candidates of a request once for each of its sub-queries.

        r_s = candidates by sim(s, t), best first; ties in the order of the candidates

    Args:
        candidates: tools t of the request, without duplicates.
        subqueries: s.
        similarity: (sub-query, tools) -> a number for each tool.

    Returns:
        A ranking for each sub-query.

    Example:
        candidates a, b with similarities 0.2, 0.9 to the first and 0.5, 0.1 to the second sub-query  ->  b a and a b

    Paper: arXiv:2410.14594 (Toolshed), the post-retrieval phase: reranking.
    Differs: similarities of embeddings stand in for a language model.
    Unconfirmed: one ranking for each sub-query.
    """
    found = []
    for one in subqueries:
        scores = dict(zip(candidates, similarity(one, candidates), strict=True))
        found.append(sorted(candidates, key=lambda name: -round(float(scores[name]), 6)))
    return found


def cover_subqueries(ranking: Sequence[str], rankings: Sequence[Sequence[str]], count: int) -> list[str]:
    """Choose the first tools of a ranking so that each sub-query's best tool is among them.

    The check of self-reflection: a sub-query without its best tool in the choice is not covered, and the tool replaces
    the last chosen one that is no sub-query's best tool. With more sub-queries than places, the first sub-queries are
    covered.

    Args:
        ranking: all tools, best first, without duplicates.
        rankings: tools of each sub-query.
        count: k >= 1, number of chosen tools.

    Returns:
        At most k tools.

    Raises:
        InputError: count below 1.

    Example:
        ranking a b c, sub-queries a b and c a, count 2  ->  a, c

    Paper: arXiv:2410.14594 (Toolshed), the post-retrieval phase: corrective check and self-reflection.
    Differs: the check is a rule on ranks; the paper asks a language model and retrieves again.
    Unconfirmed: the form of the check.
    """
    if count < 1:
        raise InputError(f"a choice has 1 tool or more, not {count}")
    best = list(dict.fromkeys(own[0] for own in rankings if own))[:count]
    chosen = list(ranking[:count])
    for name in best:
        if name not in chosen:
            place = next((k for k in reversed(range(len(chosen))) if chosen[k] not in best), None)
            if place is None:
                chosen.append(name)
            else:
                chosen[place] = name
    return chosen[:count]
