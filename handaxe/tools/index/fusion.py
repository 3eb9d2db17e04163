"""Combines several rankings into one."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["reciprocal_rank_fusion", "top"]


def reciprocal_rank_fusion(rankings: Sequence[Sequence[int]], *, constant: float = 60.0) -> list[tuple[int, float]]:
    """Fuse rankings by their ranks alone, so that scores of different kinds need no common scale.

        score(d) = sum over the rankings that hold d of 1 / (constant + rank of d in it),   rank from 1

    Args:
        rankings: each the items found, best first, none twice.
        constant: > 0; the larger, the less the first places count against the later ones.

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


def top(scores: np.ndarray, count: int, *, above: float) -> list[tuple[int, float]]:
    """The `count` items of the highest score above a threshold.

    Scores are rounded to six decimals first, so that a difference of floating-point order is a tie.

    Args:
        scores: [N] one number an item.
        count: most items, >= 0.
        above: items that score this or less are left out.

    Returns:
        (item, rounded score), best first; equal scores in the order of the items.

    Example:
        top(np.array([0.1, 0.5, 0.5, 0.0]), 3, above=0.0) is [(1, 0.5), (2, 0.5), (0, 0.1)].
    """
    rounded = np.round(np.asarray(scores, dtype=np.float64), 6)
    found = np.flatnonzero(rounded > above)
    # Cut to those that can still be among the first, ties of the last place included, before the stable sort.
    if 0 < count < len(found):
        last = np.partition(rounded[found], len(found) - count)[len(found) - count]
        found = found[rounded[found] >= last]
    order = found[np.argsort(-rounded[found], kind="stable")][:count]
    return [(int(item), float(rounded[item])) for item in order]
