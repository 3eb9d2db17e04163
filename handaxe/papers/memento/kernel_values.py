"""Episodic control: values of cases from stored interactions with similar states."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["kernel_values"]


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
