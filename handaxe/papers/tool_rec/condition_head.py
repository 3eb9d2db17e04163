"""Attribute condition of a frozen recommender: an encoder of attributes, trained on the recommender's fixed scores."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp

from handaxe.core.errors import InputError

__all__ = ["condition_scores", "fit_condition", "fit_scale"]


def fit_scale(score_NI: np.ndarray, target_N: np.ndarray) -> float:
    """Fit the factor b > 0 that turns scores into logits: the least mean cross-entropy of softmax(b s).

    Args:
        score_NI: frozen scores; -inf for items that cannot be recommended.
        target_N: item chosen in each case.

    Returns:
        b, between exp(-6) and exp(6).

    Raises:
        InputError: no case, or a target with score -inf.

    Example:
        scores (1, 0), chosen 3 times item 0 and once item 1: b = log 3 = 1.0986
    """
    _check(score_NI, target_N)

    def loss(log_b: float) -> float:
        return _loss(np.exp(log_b) * score_NI, target_N)

    found = minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def condition_scores(
    logit_NI: np.ndarray, profile_NF: np.ndarray, share_IF: np.ndarray, weight_FF: np.ndarray
) -> np.ndarray:
    """Add the attribute term to frozen logits.

        z_i = s_i + p^T W A_i

    Args:
        logit_NI: s, frozen.
        profile_NF: p, mean attribute of a history.
        share_IF: A, attributes of the items.
        weight_FF: W of `fit_condition`.

    Returns:
        z [N, I].

    Example:
        p = (1, 0), W = diag(2, 2), items (1, 0) and (0, 1): 2 is added to the first item and 0 to the second
    """
    return logit_NI + profile_NF @ weight_FF @ share_IF.T


def fit_condition(
    logit_NI: np.ndarray,
    profile_NF: np.ndarray,
    share_IF: np.ndarray,
    target_N: np.ndarray,
    *,
    l2: float = 0.001,
    steps: int = 30,
) -> np.ndarray:
    """Train the encoder of an attribute; the recommender stays frozen.

        minimize over W  -mean_n log softmax(z_n)[target_n] + l2 / 2 |W|^2,      z of `condition_scores`

    Args:
        logit_NI: frozen logits; -inf for items that cannot be recommended.
        profile_NF: mean attribute of each history.
        share_IF: attributes of the items.
        target_N: item chosen in each case.
        l2: strength of the penalty, > 0.
        steps: of L-BFGS, >= 1.

    Returns:
        W [F, F].

    Raises:
        InputError: no case, a target with logit -inf, or l2 or steps out of range.

    Example:
        one case with p = (1, 0), logits (0, 0), items (1, 0) and (0, 1), target 0, l2 1: W_00 = -W_01 = 0.3374, since
        w = sigmoid(-2 w); W_1 = 0

    Paper: arXiv:2405.15114 (ToolRec), retrieval tools: a backbone of frozen weights with an encoder of side features.
    Unconfirmed: the paper's formula; read in the released configuration.
    Differs: a bilinear term instead of a layer over the hidden state and a text embedding of the attribute.
    """
    _check(logit_NI, target_N)
    if l2 <= 0 or steps < 1:
        raise InputError(f"fit_condition: l2 is {l2} and steps is {steps}; give l2 > 0 and 1 step or more")
    cases = len(target_N)
    width = share_IF.shape[1]
    chosen_FF = profile_NF.T @ share_IF[target_N] / cases

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weight_FF = flat.reshape(width, width)
        z_NI = condition_scores(logit_NI, profile_NF, share_IF, weight_FF)
        log_N = logsumexp(z_NI, axis=1)
        value = float(np.mean(log_N - z_NI[np.arange(cases), target_N])) + l2 / 2 * float(flat @ flat)
        p_NI = np.exp(z_NI - log_N[:, None])
        slope_FF = profile_NF.T @ (p_NI @ share_IF) / cases - chosen_FF + l2 * weight_FF
        return value, slope_FF.ravel()

    found = minimize(loss, np.zeros(width * width), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return found.x.reshape(width, width)


def _loss(logit_NI: np.ndarray, target_N: np.ndarray) -> float:
    return float(np.mean(logsumexp(logit_NI, axis=1) - logit_NI[np.arange(len(target_N)), target_N]))


def _check(logit_NI: np.ndarray, target_N: np.ndarray) -> None:
    if not len(target_N) or not np.isfinite(logit_NI[np.arange(len(target_N)), target_N]).all():
        raise InputError("a fit needs 1 case or more, each with a target of finite score; remove the others")
