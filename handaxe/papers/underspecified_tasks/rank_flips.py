"""Disagreement of rankings on single members with the ranking over a family."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["other_best", "rank_flips"]


def rank_flips(score_KM: np.ndarray, members: Sequence[int] | None = None) -> float:
    """Compute the share of rankings of two methods on one member that contradict the family.

        mean over members c and pairs (k, l) with mean_c J_k != mean_c J_l of
        1[(J_k(c) - J_l(c)) (mean J_k - mean J_l) < 0]

    Equal scores on a member contradict nothing.

    Args:
        score_KM: scores of K methods on M members, [K, M], finite.
        members: that count; None: all. The family is always all members.

    Returns:
        A share, 0 to 1; 0 if all methods are equal over the family.

    Raises:
        InputError: fewer than two methods, no member, or a score that is not finite.

    Example:
        methods (9, 1) and (6, 6) have the family means 5 and 6: on the first member the order is the opposite, on the
        second the same -> 1 / 2

    Paper: arXiv:2210.08607 (Task underspecification), relative ranking of methods on a point and over a family.
    Differs: one number instead of tables.
    """
    score_KM = _checked(score_KM)
    mean_K = score_KM.mean(axis=1)
    counted_KM = score_KM if members is None else score_KM[:, list(members)]
    opposite: list[float] = []
    for first, second in itertools.combinations(range(len(score_KM)), 2):
        whole = mean_K[first] - mean_K[second]
        if whole:
            opposite += list((counted_KM[first] - counted_KM[second]) * whole < 0)
    return float(np.mean(opposite)) if opposite else 0.0


def other_best(score_KM: np.ndarray) -> float:
    """Compute the share of members on which the best method of the family is not among the best.

    Args:
        score_KM: scores of K methods on M members, [K, M], finite.

    Raises:
        InputError: as for `rank_flips`.

    Example:
        methods (9, 1) and (6, 6): the second is best over the family, and not on the first member -> 1 / 2

    Paper: arXiv:2210.08607 (Task underspecification), the choice of the state of the art.
    """
    score_KM = _checked(score_KM)
    best = int(score_KM.mean(axis=1).argmax())
    return float(np.mean(score_KM[best] < score_KM.max(axis=0)))


def _checked(score_KM: np.ndarray) -> np.ndarray:
    score_KM = np.asarray(score_KM, dtype=np.float64)
    if score_KM.ndim != 2 or len(score_KM) < 2 or not score_KM.shape[1] or not np.isfinite(score_KM).all():
        raise InputError(
            "rankings need finite scores of two methods or more on one member or more, [methods, members]; "
            f"these have the shape {list(score_KM.shape)}"
        )
    return score_KM
