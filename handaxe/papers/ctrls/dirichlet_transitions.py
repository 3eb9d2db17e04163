"""Dirichlet transition model of latent states: counts, evidence lower bound, and predictive likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import digamma, gammaln

from handaxe.core.errors import InputError

__all__ = ["mean_log_likelihood", "transition_bound", "transition_counts"]


def transition_counts(paths: Sequence[np.ndarray], states: int) -> np.ndarray:
    """Count transitions between latent states; the last row is for the first step, which has no state before.

    Args:
        paths: [N_i] states of each rollout, 0 to `states` - 1.
        states: K.

    Returns:
        [K + 1, K] float64.

    Raises:
        InputError: a state out of range.

    Example:
        paths 0 1 1 and 0 1, 2 states  ->  rows (0, 2), (0, 1), (2, 0)

    Idea: sufficient statistics of a first-order Markov chain.
    """
    count_RK = np.zeros((states + 1, states))
    for path in paths:
        if len(path) and not (np.min(path) >= 0 and np.max(path) < states):
            raise InputError(
                f"a state of {list(path)} is outside 0 to {states - 1}: give `states` the number of clusters"
            )
        np.add.at(count_RK, (np.concatenate([[states], path[:-1]]).astype(int)[: len(path)], path), 1.0)
    return count_RK


def transition_bound(alpha_RK: np.ndarray, count_RK: np.ndarray, *, prior: float = 1.0) -> float:
    """Compute the evidence lower bound of observed transitions for Dirichlet actions.

        ELBO = sum_r [ sum_s n_rs E log a_rs - KL(Dir(alpha_r) || Dir(prior)) ]
        E log a_rs = psi(alpha_rs) - psi(sum_s alpha_rs)

    The maximum is at alpha = prior + n, where the bound equals the log evidence.

    Args:
        alpha_RK: concentrations of the action in each state, > 0.
        count_RK: n, transitions.
        prior: concentration of every entry before, > 0.

    Returns:
        The bound in nats.

    Raises:
        InputError: a concentration that is not positive, or shapes that differ.

    Example:
        n = (1, 0), prior 1: alpha (1, 1)  ->  psi(1) - psi(2) = -1;  alpha (2, 1)  ->  log 1/2 = -0.6931

    Paper: arXiv:2507.08182 (CTRLS), the evidence lower bound of latent transitions.
    Unconfirmed: the form of the bound.
    Differs: states are known clusters, so that terms of the encoder and of the frozen language model are constant.
    """
    alpha_RK = _positive(alpha_RK)
    if alpha_RK.shape != np.shape(count_RK) or not prior > 0:
        raise InputError(
            f"shapes {alpha_RK.shape} and {np.shape(count_RK)}, prior {prior}: give equal shapes, prior > 0"
        )
    total_R1 = alpha_RK.sum(axis=1, keepdims=True)
    log_RK = digamma(alpha_RK) - digamma(total_R1)
    width = alpha_RK.shape[1]
    kl_R = gammaln(total_R1[:, 0]) - gammaln(alpha_RK).sum(axis=1) - gammaln(prior * width) + width * gammaln(prior)
    kl_R = kl_R + ((alpha_RK - prior) * log_RK).sum(axis=1)
    return float((count_RK * log_RK).sum() - kl_R.sum())


def mean_log_likelihood(alpha_RK: np.ndarray, count_RK: np.ndarray) -> float:
    """Compute the mean predictive log-likelihood of transitions, log(alpha_rs / sum_s alpha_rs).

    Returns:
        Nats a transition; NaN without a transition.

    Raises:
        InputError: a concentration that is not positive.

    Example:
        alpha (2, 1), transitions (1, 1)  ->  (log 2/3 + log 1/3) / 2 = -0.7520

    Idea: held-out likelihood decides between transition models.
    """
    alpha_RK = _positive(alpha_RK)
    log_RK = np.log(alpha_RK / alpha_RK.sum(axis=1, keepdims=True))
    total = float(np.sum(count_RK))
    return float((count_RK * log_RK).sum() / total) if total else float("nan")


def _positive(alpha_RK: np.ndarray) -> np.ndarray:
    alpha_RK = np.asarray(alpha_RK, np.float64)
    if alpha_RK.ndim != 2 or not (np.isfinite(alpha_RK) & (alpha_RK > 0)).all():
        raise InputError("concentrations of transitions are a matrix of finite numbers above 0")
    return alpha_RK
