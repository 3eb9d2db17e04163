"""Metrics of a tool memory over the turns of a conversation: removal ratios and residual tools."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["peak_turns", "removal_ratio", "residual_tools", "window_ratio"]

WINDOW = 3
"""Turns of a window, and turns after a peak."""


def removal_ratio(added: Sequence[int], removed: Sequence[int]) -> float:
    """Removed tools over added tools of a conversation.

        ratio = sum_t R_t / sum_t A_t

    Args:
        added, removed: A_t and R_t >= 0 of each turn of the user.

    Returns:
        NaN if nothing was added.

    Raises:
        InputError: the lists differ in length.

    Example:
        A = 5 5 5 0, R = 0 4 5 3  ->  12 / 15 = 0.8

    Paper: arXiv:2507.21428 (MemTool), average removal ratio.
    Differs: nothing.
    """
    _check(added, removed)
    return sum(removed) / sum(added) if sum(added) else nan


def window_ratio(added: Sequence[int], removed: Sequence[int]) -> float:
    """Mean removal ratio of windows of three turns; a window may exceed 1.

        1 / (T - 2) sum_t=3..T (R_t-2 + R_t-1 + R_t) / (A_t-2 + A_t-1 + A_t)

    Args, Raises: as for `removal_ratio`.

    Returns:
        The mean over windows with an added tool; NaN without one, as with fewer than three turns.

    Example:
        A = 5 5 5 0, R = 0 4 5 3  ->  (9 / 15 + 12 / 10) / 2 = 0.9

    Paper: arXiv:2507.21428 (MemTool), average removal ratio over three turns.
    Differs: windows without an added tool are left out.
    """
    _check(added, removed)
    ratios = [
        sum(removed[t : t + WINDOW]) / sum(added[t : t + WINDOW])
        for t in range(len(added) - WINDOW + 1)
        if sum(added[t : t + WINDOW])
    ]
    return float(np.mean(ratios)) if ratios else nan


def peak_turns(held: Sequence[int]) -> list[int]:
    """Turns with more held tools than the turn before, and no fewer than the turn after; three turns must follow.

    Example:
        held 5 9 4 4 8 8 2 3 3  ->  turns 1 and 4, from 0

    Paper: arXiv:2507.21428 (MemTool), peaks of the tool count.
    Unconfirmed: the definition of a peak.
    """
    return [t for t in range(len(held) - WINDOW) if held[t] > (held[t - 1] if t else 0) and held[t] >= held[t + 1]]


def residual_tools(held: Sequence[int]) -> float:
    """Held tools in the three turns after a peak, mean over peaks.

        1 / K sum_k 1 / 3 (|T| at p_k + 1, p_k + 2 and p_k + 3)

    Args:
        held: |T| after each turn of the user.

    Returns:
        NaN without a peak.

    Example:
        held 5 9 4 4 8 8 2 3 3  ->  ((4 + 4 + 8) / 3 + (8 + 2 + 3) / 3) / 2 = 4.8333

    Paper: arXiv:2507.21428 (MemTool), average residual.
    Differs: nothing known.
    Unconfirmed: the definition of a peak.
    """
    residuals = [np.mean(held[peak + 1 : peak + 1 + WINDOW]) for peak in peak_turns(held)]
    return float(np.mean(residuals)) if residuals else nan


def _check(added: Sequence[int], removed: Sequence[int]) -> None:
    if len(added) != len(removed):
        raise InputError(
            f"a conversation has as many counts of added as of removed tools: {len(added)}, {len(removed)}"
        )
