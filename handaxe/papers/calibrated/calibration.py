"""Calibration of stated confidences, over plain arrays of answers.

Shapes: c [N] confidence of each answer, 0 to 1; z [N] 1 for a correct answer, else 0.
"""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["auroc", "calibration_error"]

Numbers = Sequence[float] | np.ndarray


def calibration_error(c: Numbers, z: Numbers, *, bins: int = 10) -> float:
    """Compute the expected calibration error: the gap between confidence and accuracy, averaged over bins of
    confidence.

        ECE = sum_b n_b / N * |mean of z in b - mean of c in b|         b: c in ((b-1) / bins, b / bins], 0 in the first

    Args:
        bins: number of bins of equal width; 10 in most papers.

    Returns:
        0 to 1; NaN without answers.

    Raises:
        InputError: c and z of different lengths, a confidence outside 0 to 1, less than one bin.

    Example:
        c 0.9, 0.9, 0.2, 0.25 and z 1, 0, 0, 1  ->  2/4 * |0.5 - 0.9| + 1/4 * |0 - 0.2| + 1/4 * |1 - 0.25| = 0.4375
    """
    if bins < 1:
        raise InputError(f"bins is {bins}; give 1 or more")
    c_N, z_N = _read(c, z)
    if not len(c_N):
        return float("nan")
    # 0.3 belongs to the third of ten bins whether or not 10 * 0.3 rounds up.
    bin_N = np.maximum(np.ceil(c_N * bins - 1e-9).astype(int) - 1, 0)
    gap_B = np.bincount(bin_N, weights=z_N - c_N, minlength=bins)
    return float(np.abs(gap_B).sum() / len(c_N))


def auroc(c: Numbers, z: Numbers) -> float:
    """Compute the probability that a correct answer has higher confidence than an incorrect one; ties count half.

        AUROC = mean over pairs (i correct, j incorrect) of [c_i > c_j] + 1/2 [c_i = c_j]

    Returns:
        0 to 1, 0.5 for uninformative confidences; NaN if all answers are correct, or all incorrect.

    Example:
        c 0.9, 0.5, 0.5, 0.1 and z 1, 1, 0, 0  ->  pairs 1, 1, 1/2, 1  ->  0.875
    """
    c_N, z_N = _read(c, z)
    correct, incorrect = c_N[z_N > 0], np.sort(c_N[z_N <= 0])
    if not len(correct) or not len(incorrect):
        return float("nan")
    below, not_above = np.searchsorted(incorrect, correct, "left"), np.searchsorted(incorrect, correct, "right")
    return float((below + not_above).mean() / (2 * len(incorrect)))


def _read(c: Numbers, z: Numbers) -> tuple[np.ndarray, np.ndarray]:
    c_N, z_N = np.asarray(c, np.float64), np.asarray(z, np.float64)
    if c_N.shape != z_N.shape or c_N.ndim != 1:
        raise InputError(f"{c_N.shape} confidences and {z_N.shape} answers: give one confidence for each answer")
    if not ((c_N >= 0) & (c_N <= 1)).all():
        raise InputError("a confidence is outside 0 to 1")
    return c_N, z_N
