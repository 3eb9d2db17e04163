"""Formulas of case retrieval as soft Q-learning."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["kernel_values", "retrieval_policy", "soft_target"]


def retrieval_policy(q_N: np.ndarray, *, alpha: float) -> np.ndarray:
    """Compute the retrieval distribution of the largest value plus entropy.

        mu(c | s, M) = exp(Q(s, M, c) / alpha) / sum over c' of exp(Q(s, M, c') / alpha)

    Args:
        q_N: Q of N cases, N >= 1.
        alpha: weight of the entropy, > 0; towards 0 the largest Q takes all.

    Returns:
        [N] float64, sum 1.

    Raises:
        InputError: no case, or alpha not above 0.

    Example:
        Q = (1, 0), alpha = 0.5  ->  (0.881, 0.119)

    Paper: arXiv:2508.16153 (Memento), closed form of the optimal retrieval policy.
    Differs: nothing.
    """
    if not len(q_N) or alpha <= 0:
        raise InputError(f"a retrieval policy takes 1 or more cases and alpha > 0: {len(q_N)} cases, alpha {alpha}")
    scaled_N = np.asarray(q_N, np.float64) / alpha
    weight_N = np.exp(scaled_N - scaled_N.max())
    return weight_N / weight_N.sum()


def soft_target(reward: float, next_q_N: np.ndarray, *, gamma: float, alpha: float) -> float:
    """Compute the target of a temporal difference with the soft value of the next state.

        y = r + gamma * alpha * log(sum over c' of exp(Q_target(s', M', c') / alpha))

    Args:
        reward: r.
        next_q_N: Q_target of the N cases in the next state; empty for the last step, then y = r.
        gamma: discount, 0 to 1.
        alpha: weight of the entropy, > 0.

    Returns:
        y.

    Raises:
        InputError: alpha not above 0, or gamma outside [0, 1].

    Example:
        r = 0, Q = (1, 1), gamma = 1, alpha = 0.5  ->  1 + 0.5 * log(2) = 1.347

    Paper: arXiv:2508.16153 (Memento), the target of its TD loss.
    Differs: exp(Q / alpha); the paper prints exp(Q) there, which contradicts its own retrieval policy.
    """
    if alpha <= 0 or not 0 <= gamma <= 1:
        raise InputError(f"a soft target takes alpha > 0 and gamma from 0 to 1: {alpha}, {gamma}")
    if not len(next_q_N):
        return float(reward)
    scaled_N = np.asarray(next_q_N, np.float64) / alpha
    most = scaled_N.max()
    return float(reward + gamma * alpha * (most + np.log(np.exp(scaled_N - most).sum())))


def kernel_values(kernel_NI: np.ndarray, return_I: np.ndarray) -> np.ndarray:
    """Estimate Q from stored interactions by a kernel over states.

        Q_EC(s, c) = sum over i in D_c of k(s, s_i) Q_i / sum over i in D_c of k(s, s_i)

    Args:
        kernel_NI: k of N queries with the I interactions of one case (D_c), >= 0.
        return_I: their returns Q_i.

    Returns:
        [N] float64; 0 where no interaction has weight.

    Raises:
        InputError: shapes that do not fit, or a negative kernel.

    Example:
        k = (1, 0.5), Q = (1, 0)  ->  0.667

    Paper: arXiv:2508.16153 (Memento), episodic control by a kernel.
    Differs: nothing.
    """
    kernel_NI, return_I = np.asarray(kernel_NI, np.float64), np.asarray(return_I, np.float64)
    if kernel_NI.ndim != 2 or kernel_NI.shape[1] != len(return_I) or (kernel_NI < 0).any():
        raise InputError(f"kernel {kernel_NI.shape} >= 0 and returns {return_I.shape} do not fit")
    total_N = kernel_NI.sum(axis=1)
    return np.divide(kernel_NI @ return_I, total_N, out=np.zeros_like(total_N), where=total_N > 0)
