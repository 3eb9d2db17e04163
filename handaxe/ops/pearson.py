"""Pearson correlation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["pearson"]


def pearson(x_N: Sequence[float] | np.ndarray, y_N: Sequence[float] | np.ndarray) -> float:
    """Compute Pearson's correlation of pairs.

        r = cov(x, y) / sqrt(var(x) var(y));  0 if a side is constant, and without pairs

    Example:
        0, 1, 2 and 0, 1, 1  ->  0.8660, of which the square is 0.75
    """
    first_N = np.asarray(x_N, np.float64)
    second_N = np.asarray(y_N, np.float64)
    if not len(first_N) or np.ptp(first_N) == 0 or np.ptp(second_N) == 0:
        return 0.0
    first_N = first_N - first_N.mean()
    second_N = second_N - second_N.mean()
    scale = float(np.sqrt((first_N @ first_N) * (second_N @ second_N)))
    return float(first_N @ second_N) / scale if scale > 0 else 0.0
