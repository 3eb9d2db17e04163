"""Hop: relative progress between two states, and the progress that hops rebuild."""

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["apply_hop", "fused_progress", "hop_between"]


def hop_between(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Compute the hop from one state to another.

        H(p, q) = (Phi_q - Phi_p) / (1 - Phi_p)     if Phi_q > Phi_p: share of what was left
                  (Phi_q - Phi_p) / Phi_p           if Phi_q < Phi_p: share of what was reached
                  0                                 if Phi_q = Phi_p

    Args:
        before: Phi_p, progress of the first states, any shape, in [0, 1].
        after: Phi_q, of the same shape.

    Returns:
        Hops of the same shape, in [-1, 1].

    Raises:
        InputError: a progress outside [0, 1].

    Example:
        0.4 to 0.7  ->  0.3 / 0.6 = 0.5;   0.4 to 0.2  ->  -0.2 / 0.4 = -0.5

    Paper: arXiv:2512.23703 (Robo-Dopamine), hop-based labels of the general reward model.
    Differs: nothing.
    """
    before = _progress(before)
    after = _progress(after)
    change = after - before
    left = np.where(change > 0, 1 - before, np.where(change < 0, before, 1.0))
    return np.clip(change / left, -1.0, 1.0)


def apply_hop(progress: np.ndarray, hop: np.ndarray) -> np.ndarray:
    """Move a progress by a hop, the inverse of `hop_between`.

        Phi_q = Phi_p + H * (1 - Phi_p)     if H >= 0
                Phi_p + H * Phi_p           if H < 0

    Args:
        progress: Phi_p, any shape, in [0, 1].
        hop: H, of the same shape; values outside [-1, 1] are clipped.

    Returns:
        Phi_q, in [0, 1] for every hop.

    Raises:
        InputError: a progress outside [0, 1].

    Example:
        0.4 with 0.5  ->  0.7;   0.4 with -0.5  ->  0.2

    Paper: arXiv:2512.23703 (Robo-Dopamine), reconstruction of the progress.
    Differs: nothing.
    """
    progress = _progress(progress)
    hop = np.clip(np.asarray(hop, np.float64), -1.0, 1.0)
    return np.clip(progress + hop * np.where(hop >= 0, 1 - progress, progress), 0.0, 1.0)


def fused_progress(incremental_N: np.ndarray, forward_N: np.ndarray, backward_N: np.ndarray) -> np.ndarray:
    """Average three estimates of the progress after each turn.

        I_n = apply_hop(I_{n-1}, H(s_{n-1}, s_n)),  I_0 = 0        incremental
        F_n = H(s_0, s_n)                                          forward-anchored at the start
        B_n = 1 + H(goal, s_n)                                     backward-anchored at the goal
        Phi_n = (I_n + F_n + B_n) / 3,  Phi_0 = 0                  F and B clipped to [0, 1]

    Args:
        incremental_N: H(s_{n-1}, s_n) of N turns.
        forward_N: H(s_0, s_n).
        backward_N: H(goal, s_n).

    Returns:
        [4, N + 1]: Phi, then I, F and B, before the first and after each turn; all are 0 before the first.

    Raises:
        InputError: three arrays of unequal length, or a hop that is not finite.

    Example:
        incremental 0.5 and -0.5, forward 0.5 and 0.2, backward -0.5 and -0.9  ->
        I 0.5, 0.25; F 0.5, 0.2; B 0.5, 0.1;  Phi 0, 0.5, 0.18333

    Paper: arXiv:2512.23703 (Robo-Dopamine), multi-perspective fusion; the three modes as in the released code.
    Unconfirmed: equal weights; less weight on estimates that disagree is left out.
    Differs: one view, a text, instead of several cameras. The progress of the first state is 0 by definition.
    """
    hops = [np.asarray(one, np.float64) for one in (incremental_N, forward_N, backward_N)]
    if len({one.shape for one in hops}) != 1 or hops[0].ndim != 1 or not all(np.isfinite(one).all() for one in hops):
        raise InputError(f"hops have shapes {[one.shape for one in hops]}; give a finite hop of each kind per turn")
    count = len(hops[0])
    found = np.zeros((4, count + 1))
    for n in range(count):
        found[1, n + 1] = apply_hop(found[1, n], hops[0][n])
    found[2, 1:] = np.clip(hops[1], 0.0, 1.0)
    found[3, 1:] = np.clip(1 + hops[2], 0.0, 1.0)
    found[0] = found[1:].mean(0)
    return found


def _progress(value: np.ndarray) -> np.ndarray:
    value = np.asarray(value, np.float64)
    if not ((value >= 0) & (value <= 1)).all():
        raise InputError(f"a progress is {float(value.flat[0])} or similar; give numbers from 0 to 1")
    return value
