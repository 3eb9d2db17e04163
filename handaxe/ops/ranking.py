"""Measures of a ranking with a set of relevant items: sufficiency, recall and NDCG of the first k places.

Kept: figures of retrieval for worlds and evaluations of users.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["ndcg_at", "recall_at", "sufficiency_at"]


def sufficiency_at(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Check whether the first k places hold every relevant item.

        S@k = 1 if G is a subset of {d_1, ..., d_k}, else 0

    Args:
        ranking: distinct items d_1, d_2, ..., best first.
        relevant: G, at least one item; items outside the ranking count as not found.
        k: >= 1.

    Returns:
        1 or 0.

    Raises:
        InputError: no relevant item, k below 1, or an item twice in the ranking.

    Example:
        ranking 3 1 7 2 5 and G = {3, 7}  ->  S@2 = 0, S@3 = 1

    Paper: arXiv:2410.03212 (QTA), Sufficiency@k.
    Differs: nothing.
    """
    return float(recall_at(ranking, relevant, k) == 1.0)


def recall_at(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Share of the relevant items in the first k places.

        R@k = |G and {d_1, ..., d_k}| / |G|

    Args, Raises: as for `sufficiency_at`.

    Example:
        ranking 3 1 7 2 5 and G = {3, 7}  ->  R@2 = 0.5, R@3 = 1
    """
    _check(ranking, relevant, k)
    wanted = set(relevant)
    return len(wanted & set(ranking[:k])) / len(wanted)


def ndcg_at(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Normalized discounted cumulative gain of the first k places, with gains of 0 and 1.

        DCG@k  = sum over i <= k with d_i in G of 1 / log2(i + 1)
        NDCG@k = DCG@k / sum over i <= min(k, |G|) of 1 / log2(i + 1)

    Args, Raises: as for `sufficiency_at`.

    Returns:
        From 0 to 1; 1 if relevant items take the first places.

    Example:
        ranking 3 1 7 2 5 and G = {3, 7}  ->  NDCG@3 = (1 + 0.5) / (1 + 0.63093) = 0.919721
        ranking a b c and G = {c}  ->  NDCG@3 = 0.5

    Paper: arXiv:2410.03212 (QTA), NDCG@k.
    Differs: nothing.
    """
    _check(ranking, relevant, k)
    wanted = set(relevant)
    discount_K = 1 / np.log2(np.arange(2, k + 2))
    hit_K = np.array([one in wanted for one in ranking[:k]], dtype=np.float64)
    return float(hit_K @ discount_K[: len(hit_K)] / discount_K[: len(wanted)].sum())


def _check(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> None:
    if not relevant or k < 1:
        raise InputError(
            f"a ranking is measured with 1 relevant item or more and k of 1 or more; k is {k}, the relevant "
            f"items are {list(relevant)}"
        )
    if len(set(ranking)) < len(ranking):
        raise InputError("an item occurs twice in the ranking; give each item once")
