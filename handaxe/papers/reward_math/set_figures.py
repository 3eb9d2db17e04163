"""Figures of judges on sets of solutions: the correct solution above all others, and the rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["beats_all", "reciprocal_rank"]


def beats_all(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Check whether the first solution of each set scores above all others.

        1[s_0 > max_{j > 0} s_j]

    Args:
        scores: [N] of each set, the correct solution first, N >= 2.

    Returns:
        [sets] of 0 and 1; equal scores are 0.

    Raises:
        InputError: a set with one solution.

    Example:
        0.9, 0.5, 0.3 -> 1;  0.5, 0.5 -> 0

    Paper: arXiv:2410.01729 (RewardMATH), accuracy.
    Differs: nothing.
    """
    _check(scores)
    return np.array([float(own[0] > np.max(own[1:])) for own in scores])


def reciprocal_rank(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Reciprocal rank of the first solution of each set.

        1 / (1 + number of others with an equal or a greater score)

    Args, Raises: as for `beats_all`.

    Returns:
        [sets] in (0, 1].

    Example:
        ranks 1, 3 and 2  ->  mean (1 + 1/3 + 1/2) / 3 = 0.6111, beside an accuracy of 1/3

    Paper: arXiv:2410.01729 (RewardMATH), mean reciprocal rank.
    Differs: nothing.
    """
    _check(scores)
    return np.array([1.0 / (1 + int(np.sum(own[1:] >= own[0]))) for own in scores])


def _check(scores: Sequence[np.ndarray]) -> None:
    if any(len(own) < 2 for own in scores):
        raise InputError("a set has one correct solution and one incorrect solution or more")
