"""Accuracy of scores on comparisons with ties, with a calibrated threshold."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["best_threshold", "class_figures", "three_way_accuracy"]


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


def class_figures(
    other_PA: np.ndarray, other_label_PA: np.ndarray, margin_PA: np.ndarray, label_PA: np.ndarray
) -> dict[str, float]:
    """Compute means over qualities of the accuracy in three classes, of the order of winners, and of the gap of ties.

        three   `three_way_accuracy`, by the best threshold of the other pairs
        strict  share of pairs with a winner whose margin has the sign of the label
        gap     mean |D| of ties / mean |D| of pairs with a winner

    Args:
        other_PA: margins of the pairs that choose the threshold.
        other_label_PA: their labels, 1, -1 or 0.
        margin_PA: margins of the pairs that measure.
        label_PA: their labels, with a tie and a winner in each quality.

    Example:
        margins 2, 0.5 and -1 with labels 1, 0 and 1, on both sets of pairs  ->  three 2/3, strict 1/2, gap 1/3

    Paper: arXiv:2501.13918 (VideoReward), accuracy with ties and without ties.
    Differs: the gap of ties is this library's figure.
    """
    rows = list[tuple[float, float, float]]()
    for other_P, other_label_P, margin_P, label_P in zip(
        other_PA.T, other_label_PA.T, margin_PA.T, label_PA.T, strict=True
    ):
        three = three_way_accuracy(margin_P, label_P, best_threshold(other_P, other_label_P))
        won_P = label_P != 0
        strict = float((np.sign(margin_P) == label_P)[won_P].mean())
        rows.append((three, strict, float(np.abs(margin_P)[~won_P].mean() / np.abs(margin_P)[won_P].mean())))
    return dict(zip(("three", "strict", "gap"), np.mean(rows, axis=0).tolist(), strict=True))
