"""Accuracy of scores on comparisons with ties, with a calibrated threshold."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["best_threshold", "three_way_accuracy"]


def three_way_accuracy(margin_P: np.ndarray, label_P: np.ndarray, threshold: float) -> float:
    """Compute the share of comparisons in the right one of three classes.

        class = sign(D) if |D| > threshold, else 0

    Args:
        margin_P: D, differences of scores.
        label_P: 1, -1 or 0.
        threshold: largest difference of a tie.

    Raises:
        InputError: no comparison.

    Example:
        D 2, 0.1 and -1, labels 1, 0 and 1, threshold 0.5  ->  2/3

    Paper: arXiv:2501.13918 (VideoReward), accuracy with ties, after arXiv:2305.14324.
    Differs: nothing known.
    """
    if not len(margin_P):
        raise InputError("accuracy is of one comparison or more")
    return float((np.where(np.abs(margin_P) > threshold, np.sign(margin_P), 0) == label_P).mean())


def best_threshold(margin_P: np.ndarray, label_P: np.ndarray) -> float:
    """Find the threshold with the highest accuracy, the smallest of equal ones; candidates are 0 and all |D|.

    Example:
        D 2, 0.1 and -1, labels 1, 0 and -1  ->  0.1

    Paper: arXiv:2305.14324, tie calibration.
    Differs: the study calibrates on other pairs than it measures.
    """
    candidates = np.unique(np.concatenate([[0.0], np.abs(margin_P)]))
    return float(max(candidates, key=lambda one: (three_way_accuracy(margin_P, label_P, one), -one)))
