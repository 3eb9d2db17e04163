"""Score of learning histories: improvement of the return, and stability of the improvement."""

from __future__ import annotations

import math

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["history_score"]


def history_score(
    return_NE: np.ndarray, *, low: float, high: float, stability: float = 1.0, ends: float = 0.2
) -> np.ndarray:
    """Compute U = Improvement + lambda Stability of each history.

        Improvement = (mean of the last returns - mean of the first returns) / (high - low)
        Stability   = 1 - mean over e of max(0, R_e - R_(e+1)) / (high - low)

    The first and the last returns are those of a share `ends` of the episodes, rounded up.

    Args:
        return_NE: returns of N histories of E episodes, E >= 2.
        low, high: least and greatest possible return.
        stability: lambda, at least 0.
        ends: in (0, 0.5].

    Returns:
        [N] float64: Improvement in [-1, 1] and Stability in [0, 1] for returns in [low, high].

    Raises:
        InputError: fewer than two episodes, low >= high, a negative lambda, ends out of range, or no finite returns.

    Example:
        returns 0, 0.5, 0.4, 1, low 0, high 1, ends 0.25: improvement 1, one drop of 0.1 in three changes, stability
        0.9667; U = 1.9667 with lambda 1, and 1 with lambda 0

    Paper: arXiv:2505.15143 (LHF), the unified score of improvement and stability.
    Unconfirmed: both terms, ends and lambda = 1; the abstract and a summary were read.
    Differs: nothing known.
    """
    return_NE = np.asarray(return_NE, np.float64)
    if return_NE.ndim != 2 or return_NE.shape[1] < 2 or not np.isfinite(return_NE).all():
        raise InputError(f"history_score: returns have shape {return_NE.shape}; give finite returns [N, E], E >= 2")
    if not low < high or stability < 0 or not 0 < ends <= 0.5:
        raise InputError(
            f"history_score: low {low}, high {high}, stability {stability}, ends {ends}; give low < high, "
            "stability >= 0, and ends in (0, 0.5]"
        )
    part = math.ceil(ends * return_NE.shape[1])
    gain_N = (return_NE[:, -part:].mean(axis=1) - return_NE[:, :part].mean(axis=1)) / (high - low)
    drop_N = np.maximum(0, return_NE[:, :-1] - return_NE[:, 1:]).mean(axis=1) / (high - low)
    return gain_N + stability * (1 - drop_N)
