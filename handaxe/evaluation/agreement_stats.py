"""Agreement of probabilities with binary labels, with intervals by resampling of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from handaxe.ops.seeds import generator

__all__ = ["Figure", "MEASURES", "RESAMPLES", "agreement_stats", "percentile_figure", "resampled_figure"]

RESAMPLES = 1000
"""Resamples behind an interval."""


class Figure(NamedTuple):
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float


def agreement_stats(
    chance: Sequence[float], label: Sequence[bool], task: Sequence[str], *, resamples: int = RESAMPLES
) -> dict[str, Figure]:
    """Compare probabilities with labels.

        accuracy     share of p > 0.5 that equals the label
        precision    share of labels among p > 0.5;  recall: share of p > 0.5 among labels;  f1: their harmonic mean
        constant_f1  f1 of an answer that is always yes, 2 s / (1 + s) with the share s of labels
        auroc        P(p of a label > p of another) + P(equal) / 2
        kappa        (accuracy - a) / (1 - a), a: expected accuracy of independent answers with the same shares

    Args:
        chance: [Q] probabilities of yes.
        label: [Q] answers of the rule.
        task: [Q] ids; a resample draws tasks with all their questions, since questions of one task are alike.
        resamples: for the intervals.

    Returns:
        Name -> figure; NaN where it is not defined, such as auroc with labels of one kind.

    Example:
        p 0.9, 0.6, 0.2 and labels yes, no, no  ->  accuracy 2/3, precision 1/2, recall 1, f1 2/3, auroc 1, kappa 0.4
    """
    p_Q, label_Q = np.asarray(chance, np.float64), np.asarray(label, bool)
    names, task_Q = np.unique(np.asarray(task, str), return_inverse=True)
    members = [np.flatnonzero(task_Q == k) for k in range(len(names))]
    rng = generator("agreement", len(p_Q))
    draws = [
        np.concatenate([members[k] for k in rng.integers(len(members), size=len(members))])
        for _ in range(resamples if members else 0)
    ]
    found = {}
    for name, measure in MEASURES.items():
        resampled = np.array([measure(p_Q[draw], label_Q[draw]) for draw in draws])
        found[name] = percentile_figure(measure(p_Q, label_Q), resampled)
    return found


def percentile_figure(value: float, resampled_R: np.ndarray) -> Figure:
    """Return a value with the 2.5 and 97.5 % quantiles of its resamples.

    Args:
        value: of all tasks.
        resampled_R: [R] values of resampled tasks; those that are not finite are left out.

    Returns:
        The figure; its interval is NaN without a finite resample.

    Example:
        0.5 and resamples 0, 1, NaN  ->  0.5 [0.025, 0.975]

    Idea: percentile bootstrap over tasks, for figures that a resample may leave undefined.
    """
    finite = resampled_R[np.isfinite(resampled_R)]
    low, high = np.quantile(finite, (0.025, 0.975)) if len(finite) else (np.nan, np.nan)
    return Figure(float(value), float(low), float(high))


def resampled_figure(measure: Callable[[np.ndarray], float], count: int, *, salt: str) -> Figure:
    """Measure all units, with an interval over resampled units.

    Args:
        measure: [N] numbers of units, with repetitions -> value.
        count: N, units.
        salt: of the draws, together with N.

    Returns:
        The figure, see `percentile_figure`.

    Example:
        units 1, 1, 1, measure their mean  ->  1 [1, 1]

    Idea: percentile bootstrap over units such as judges.
    """
    index_RN = generator(salt, count).integers(count, size=(RESAMPLES, count))
    return percentile_figure(measure(np.arange(count)), np.array([measure(own_N) for own_N in index_RN]))


def _share(hits_N: np.ndarray) -> float:
    return float(hits_N.mean()) if len(hits_N) else float("nan")


def _accuracy(p_Q: np.ndarray, label_Q: np.ndarray) -> float:
    return _share((p_Q > 0.5) == label_Q)


def _precision(p_Q: np.ndarray, label_Q: np.ndarray) -> float:
    return _share(label_Q[p_Q > 0.5])


def _recall(p_Q: np.ndarray, label_Q: np.ndarray) -> float:
    return _share((p_Q > 0.5)[label_Q])


def _f1(p_Q: np.ndarray, label_Q: np.ndarray) -> float:
    yes_Q = p_Q > 0.5
    total = yes_Q.sum() + label_Q.sum()
    return float(2 * (yes_Q & label_Q).sum() / total) if total else float("nan")


def _constant_f1(p_Q: np.ndarray, label_Q: np.ndarray) -> float:
    return _f1(np.ones(len(p_Q)), label_Q)


def _auroc(p_Q: np.ndarray, label_Q: np.ndarray) -> float:
    positive = int(label_Q.sum())
    pairs = positive * (len(label_Q) - positive)
    if not pairs:
        return float("nan")
    return float((rankdata(p_Q)[label_Q].sum() - positive * (positive + 1) / 2) / pairs)


def _kappa(p_Q: np.ndarray, label_Q: np.ndarray) -> float:
    if not len(p_Q):
        return float("nan")
    yes, share = float((p_Q > 0.5).mean()), float(label_Q.mean())
    expected = yes * share + (1 - yes) * (1 - share)
    return (_accuracy(p_Q, label_Q) - expected) / (1 - expected) if expected < 1 else float("nan")


MEASURES: Mapping[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": _accuracy,
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "constant_f1": _constant_f1,
    "auroc": _auroc,
    "kappa": _kappa,
}
"""Name -> ([Q] probabilities, [Q] labels) -> value."""
