"""Draws of cases from the softmax of their values."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["check_draws", "softmax_draws"]


def check_draws(k: int, *, temperature: float) -> None:
    """Check the options of `softmax_draws`, before a study plays anything.

    Raises:
        InputError: a negative k, or a temperature that is not a number above 0.
    """
    if k < 0 or not 0 < temperature < np.inf:
        raise InputError(
            f"k is {k} and temperature {temperature}; give 0 or more cases and a temperature above 0, or retrieve the "
            "largest values for temperature 0"
        )


def softmax_draws(q_N: np.ndarray, k: int, *, temperature: float, rng: np.random.Generator) -> list[int]:
    """Draw K of N cases from the softmax of their values, without replacement.

        mu_c             = exp(Q_c / temperature) / sum over c' of exp(Q_c' / temperature)
        P(c_1, ..., c_K) = product over j of mu_(c_j) / (1 - mu_(c_1) - ... - mu_(c_(j-1)))

    The K largest of Q_c / temperature + G_c with independent Gumbel G_c have this distribution, in their order.

    Args:
        q_N: Q of each case.
        k: K; more than N draws every case.
        temperature: alpha of the entropy, above 0; small values draw the K largest Q.
        rng: of the draws. An equal state and a smaller K draw the first cases of the larger K.

    Returns:
        Numbers of the cases, first draw first.

    Raises:
        InputError: values that are not a finite vector, a negative K, or a temperature that is not a number above 0.

    Example:
        Q = (1, 0), temperature 0.5: case 0 is the first draw with probability 0.881

    Paper: arXiv:2508.16153 (Memento), the optimal retrieval policy mu* of soft Q-learning.
    Differs: the policy of the paper draws one case; here K cases are drawn without replacement.
    """
    q_N = np.asarray(q_N, np.float64)
    if q_N.ndim != 1 or not np.isfinite(q_N).all():
        raise InputError(f"values of cases are a vector of finite numbers, not {q_N.tolist()}: check the classifier")
    check_draws(k, temperature=temperature)
    key_N = q_N / temperature + rng.gumbel(size=len(q_N))
    return [int(n) for n in np.argsort(-key_N, kind="stable")[:k]]
