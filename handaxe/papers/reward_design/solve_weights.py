"""Linear program of bounded reward weights."""

from __future__ import annotations

import numpy as np
import scipy  # scipy.optimize takes a while: imported on use

from handaxe.core.errors import InputError

__all__ = ["solve_weights"]

PENALTY = 1e-6
"""Of the sum of absolute weights, which picks the smallest of equally informative rewards."""
TRACE = 1e-4
"""Weights below this share of the limit are 0: traces of the slack, which a learner far from the goal may repeat."""


def solve_weights(
    slope_W: np.ndarray, row_RW: np.ndarray, limit_R: np.ndarray, limit: float, slack_RX: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Maximize a linear function of bounded weights, less mean slacks and a small penalty of the weights' size.

        max slope . w - mean x - penalty sum |w|   subject to   row w + slack x <= limit_R,  |w| <= limit,  x >= 0

    The penalty picks the smallest of equally good weights. Without it, a solver returns a corner of the optimal set,
    with weights at the limit that nothing requires.

    Args:
        slope_W: objective.
        row_RW, limit_R: constraints.
        limit: of the weights.
        slack_RX: coefficients of slack variables; None for none.

    Returns:
        The weights, and the objective value.

    Raises:
        InputError: no weights meet the constraints.

    Example:
        slope 1, constraint 2 w <= 1, limit 10  ->  0.5, and 0.5 less the penalty

    Paper: Devidze et al., NeurIPS 2021 (EXPRD), objective with a penalty of |R|_1; in line with the released code.
    Differs: the penalty is 1e-6 instead of 0, since the released solver returns interior points; weights below 1e-4 of
        the limit become 0, in the released code those below the solver's tolerance.
    """
    slacks = 0 if slack_RX is None else slack_RX.shape[1]
    extra_RX = np.zeros((len(row_RW), 0)) if slack_RX is None else slack_RX
    weights = len(slope_W)
    found = scipy.optimize.linprog(
        np.concatenate([PENALTY - slope_W, PENALTY + slope_W, np.full(slacks, 1 / max(slacks, 1))]),
        A_ub=scipy.sparse.csr_array(np.hstack([row_RW, -row_RW, extra_RX])),
        b_ub=limit_R,
        bounds=[(0, limit)] * (2 * weights) + [(0, None)] * slacks,
        method="highs",
    )
    if not found.success:
        raise InputError(f"no reward of this structure has the required gaps ({found.message}); give a larger basis")
    weight_W = found.x[:weights] - found.x[weights : 2 * weights]
    return np.where(np.abs(weight_W) < TRACE * limit, 0.0, weight_W), float(-found.fun)
