"""Recommender by neighbours of items: similarity of items, and scores for a history."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from handaxe.core.errors import InputError

__all__ = ["item_similarity", "neighbour_scores"]


def item_similarity(
    histories: Sequence[np.ndarray], items: int, *, shrink: float = 10.0, neighbours: int = 100
) -> np.ndarray:
    """Compute the similarity of items by their common users.

        S_ij = n_ij / (sqrt(n_i n_j) + shrink) for i != j,      S_ii = 0

    n_i is the number of users of item i, n_ij that of common users. For each i, all but the largest S_ij are set to 0.

    Args:
        histories: of users, numbers of distinct items.
        items: number of items I.
        shrink: lowers similarities with few users, >= 0.
        neighbours: entries kept for each item, >= 1.

    Returns:
        S [I, I].

    Raises:
        InputError: shrink or neighbours out of range, or no user.

    Example:
        users {0, 1}, {0, 1}, {0, 2} with shrink 0: S_01 = 2 / sqrt(6) = 0.8165, S_02 = 1 / sqrt(3) = 0.5774, S_12 = 0

    Paper: arXiv:2405.15114 (ToolRec), the frozen recommender.
    Differs: neighbours of items; the paper has SASRec and BERT4Rec.
    """
    if not histories or shrink < 0 or neighbours < 1:
        raise InputError(
            f"item_similarity: give 1 user or more, shrink >= 0 and neighbours >= 1; there are {len(histories)} users, "
            f"shrink is {shrink}, neighbours is {neighbours}"
        )
    user_N = np.repeat(np.arange(len(histories)), [len(one) for one in histories])
    item_N = np.concatenate(histories)
    used_UI = csr_array((np.ones(len(item_N)), (user_N, item_N)), shape=(len(histories), items))
    common_II = (used_UI.T @ used_UI).toarray()
    count_I = common_II.diagonal().copy()
    norm_II = np.sqrt(np.outer(count_I, count_I)) + shrink
    similar_II = np.divide(common_II, norm_II, out=np.zeros_like(common_II), where=norm_II > 0)
    np.fill_diagonal(similar_II, 0)
    if neighbours < items:
        least_I1 = np.partition(similar_II, items - neighbours, axis=1)[:, items - neighbours, None]
        similar_II[similar_II < least_I1] = 0
    return similar_II


def neighbour_scores(
    similar_II: csr_array | np.ndarray, histories: Sequence[np.ndarray], *, decay: float = 0.95
) -> np.ndarray:
    """Score all items for each history, with less weight on earlier items.

        s_i = sum over k = 0, 1, ... of decay^k S[h_(n - k), i],      h_n the last item

    Args:
        similar_II: of `item_similarity`, [I, I].
        histories: of users, numbers of items in order of time; an empty one gives zeros.
        decay: weight of an item relative to the next one, in (0, 1].

    Returns:
        s [U, I].

    Raises:
        InputError: decay out of range.

    Example:
        S_02 = 0.4, S_12 = 0.2, history 0 1 and decay 0.5: s_2 = 0.2 + 0.5 * 0.4 = 0.4
    """
    if not 0 < decay <= 1:
        raise InputError(f"neighbour_scores: decay is {decay}; give a number above 0, at most 1")
    user_N = np.repeat(np.arange(len(histories)), [len(one) for one in histories])
    weight_N = np.concatenate([decay ** np.arange(len(one))[::-1] for one in histories])
    shape = (len(histories), similar_II.shape[0])
    weight_UI = csr_array((weight_N, (user_N, np.concatenate(histories))), shape=shape)
    score_UI = weight_UI @ similar_II
    return score_UI if isinstance(score_UI, np.ndarray) else score_UI.toarray()
