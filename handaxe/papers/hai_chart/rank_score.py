"""Score of a chart learned from published charts: pairs of a published and another chart of the same table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from handaxe.core.errors import InputError

__all__ = ["fit_ranking", "learned_score"]


def fit_ranking(pairs: Sequence[tuple[np.ndarray, np.ndarray]], *, l2: float = 1.0) -> np.ndarray:
    """Fit weights so that published charts rank above the others.

        minimize  -mean over p, q of log sigmoid(w . (f_p - f_q))  +  l2 / (2 P) |w|^2

    over all pairs of a published chart p and another chart q of one table; P is the number of published charts.

    Args:
        pairs: of each table, features of published charts [P, F] and of others [Q, F], both not empty.
        l2: strength of the penalty.

    Returns:
        Weights [F].

    Raises:
        InputError: no table, a table without charts on one of both sides, or l2 <= 0.

    Example:
        one published chart with feature 1 and one other with feature 0, l2 1: w = 0.4011, since sigmoid(-w) = w

    Paper: arXiv:2406.11033 (HAIChart), the data score, learned offline from rated charts.
    Unconfirmed: model and loss of the paper.
    Differs: a linear model; the released code loads a model of RankLib.
    """
    if not pairs or l2 <= 0 or any(not len(good) or not len(bad) for good, bad in pairs):
        raise InputError(f"fit_ranking: give l2 > 0 (is {l2}) and charts on both sides of each table")
    gaps = [(good[:, None] - bad[None]).reshape(-1, good.shape[1]) for good, bad in pairs]
    weight_K = np.concatenate([np.full(len(one), 1 / len(one) / len(gaps)) for one in gaps])
    gap_KF = np.concatenate(gaps)
    count = sum(len(good) for good, _ in pairs)

    def loss(w_F: np.ndarray) -> tuple[float, np.ndarray]:
        margin_K = gap_KF @ w_F
        value = float(weight_K @ np.logaddexp(0, -margin_K)) + l2 / (2 * count) * float(w_F @ w_F)
        return value, -(weight_K * expit(-margin_K)) @ gap_KF + l2 / count * w_F

    found = minimize(
        loss, np.zeros(gap_KF.shape[1]), jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}
    )
    return found.x


def learned_score(features: np.ndarray, weights: np.ndarray) -> float:
    """Return sigmoid(w . f - |w|_1 / 2), in (0, 1): features [F], weights [F]."""
    return float(expit(features @ weights - np.abs(weights).sum() / 2))
