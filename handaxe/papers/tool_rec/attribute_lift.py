"""Preference of a user for the values of an attribute, read from the history."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["attribute_lift", "history_lift", "value_shares"]


def value_shares(share_IF: np.ndarray, count_I: np.ndarray) -> np.ndarray:
    """Share of each value among interactions with items of known attribute.

    Args:
        share_IF: of items over values; rows of zeros are unknown.
        count_I: interactions of each item.

    Returns:
        Positive shares [F] with sum 1; every value has half an interaction added.

    Example:
        two values, items (1, 0) and (0, 1) with 2 and 0 interactions: (2.5, 0.5) / 3
    """
    total_F = count_I @ share_IF + 0.5
    return total_F / total_F.sum()


def attribute_lift(
    history_HF: np.ndarray, share_NF: np.ndarray, base_F: np.ndarray, *, smooth: float = 5.0
) -> np.ndarray:
    """Compute how much more often a user chooses the values of an item than all users.

        p(v)    = (sum over known h of A_hv + smooth base_v) / (number of known h + smooth)
        lift(i) = log sum_v A_iv p(v) / base_v;      0 for an item without known value

    Args:
        history_HF: A of the history's items, [H, F].
        share_NF: A of the items to judge, [N, F].
        base_F: shares of the values among all interactions, positive.
        smooth: number of interactions that the base counts for, > 0.

    Returns:
        Lifts [N].

    Raises:
        InputError: smooth or base_F not positive.

    Example:
        base (0.5, 0.5), smooth 2, history of two items of the first value: p = (3/4, 1/4); lifts of both values are
        log 1.5 = 0.4055 and log 0.5 = -0.6931

    Paper: arXiv:2405.15114 (ToolRec), the surrogate user's preference by attribute.
    Differs: a rule; the paper asks a language model.
    """
    _check(base_F, smooth)
    known = history_HF.sum()
    share_F = (history_HF.sum(axis=0) + smooth * base_F) / (known + smooth)
    return _log(share_NF @ (share_F / base_F))


def history_lift(history_HF: np.ndarray, base_F: np.ndarray, *, smooth: float = 5.0) -> float:
    """Estimate how well an attribute predicts a user's choices: the lift of each item by the rest of the history.

        L = 1/H sum_h lift(h) with the history without h

    Args, Raises: as for `attribute_lift`.

    Returns:
        L, above 0 if the user prefers some values more than all users do; 0 without history.

    Example:
        base (0.5, 0.5), smooth 1, history of two items of the first value: each is judged by one other item,
        p = 3/4, so L = log 1.5 = 0.4055
    """
    if not len(history_HF):
        return 0.0
    _check(base_F, smooth)
    known_H1 = history_HF.sum(axis=1, keepdims=True)
    rest_HF = history_HF.sum(axis=0) - history_HF + smooth * base_F
    rest_HF /= known_H1.sum() - known_H1 + smooth
    lift_H = np.sum(history_HF * rest_HF / base_F, axis=1)
    return float(np.mean(_log(lift_H)))


def _log(lift_N: np.ndarray) -> np.ndarray:
    return np.log(lift_N, out=np.zeros_like(lift_N), where=lift_N > 0)


def _check(base_F: np.ndarray, smooth: float) -> None:
    if smooth <= 0 or not (base_F > 0).all():
        raise InputError(f"attribute lifts: smooth (is {smooth}) and all shares of base_F must be above 0")
