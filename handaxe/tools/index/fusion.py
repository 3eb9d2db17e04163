"""Fusion of rankings."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["reciprocal_rank_fusion", "top_scores"]


def reciprocal_rank_fusion(rankings: Sequence[Sequence[int]], *, constant: float = 60.0) -> list[tuple[int, float]]:
    """Fuse rankings by ranks only, so that scores of different kinds need no common scale.

        score(d) = sum over the rankings with d of 1 / (constant + rank of d in it),   rank from 1

    Args:
        rankings: items of each ranking, best first, without duplicates.
        constant: > 0; a larger constant reduces the weight of the first places.

    Returns:
        (item, score), best first; equal scores in the order of the items.

    Raises:
        InputError: the constant is not above 0.

    Example:
        reciprocal_rank_fusion([[7, 3], [3, 5]]) is [(3, 1/62 + 1/61), (7, 1/61), (5, 1/62)].

    Paper: Cormack, Clarke and Buettcher, SIGIR 2009 (constant 60). Differs: nothing.
    """
    if not constant > 0:
        raise InputError(f"the constant of reciprocal rank fusion is {constant}; give more than 0")
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (constant + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def top_scores(scores: np.ndarray, count: int, *, above: float) -> list[tuple[int, float]]:
    """Select the `count` items with the highest scores above a threshold.

    Scores are rounded to six decimals first, so that differences by floating-point order are ties.

    Args:
        scores: [N], a number for each item.
        count: most items, >= 0.
        above: items with this score or less are omitted.

    Returns:
        (item, rounded score), best first; equal scores in the order of the items.

    Example:
        top_scores(np.array([0.1, 0.5, 0.5, 0.0]), 3, above=0.0) is [(1, 0.5), (2, 0.5), (0, 0.1)].
    """
    rounded = np.round(np.asarray(scores, dtype=np.float64), 6)
    found = np.flatnonzero(rounded > above)
    # Before the stable sort, keep only candidates for the first places, ties of the last place included.
    if 0 < count < len(found):
        last = np.partition(rounded[found], len(found) - count)[len(found) - count]
        found = found[rounded[found] >= last]
    order = found[np.argsort(-rounded[found], kind="stable")][:count]
    return [(int(item), float(rounded[item])) for item in order]
