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
    x_N, y_N = np.asarray(x_N, np.float64), np.asarray(y_N, np.float64)
    if not len(x_N) or np.ptp(x_N) == 0 or np.ptp(y_N) == 0:
        return 0.0
    x_N, y_N = x_N - np.mean(x_N), y_N - np.mean(y_N)
    scale = float(np.sqrt((x_N @ x_N) * (y_N @ y_N)))
    return float(x_N @ y_N) / scale if scale > 0 else 0.0
