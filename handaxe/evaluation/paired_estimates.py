"""Probability of improvement and interquartile mean of pairs of runs, beside the mean difference."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from handaxe.evaluation.claim_figures import PairedFigures
from handaxe.ops.stats import (
    Interval,
    improvement_interval,
    improvement_probability,
    interquartile_interval,
    interquartile_mean,
)

__all__ = ["PairedEstimates", "paired_estimates"]

LEVEL = 0.95


class PairedEstimates(NamedTuple):
    """Estimates of pairs of runs that outliers move less than the mean, with percentile bootstrap intervals of 95 %.

    They describe a result; `evaluation.decide` alone decides a claim.

    improvement     probability that a run of the method has the better value than a run of the baseline
    interquartile   mean of the middle half of the paired differences
    """

    improvement: float
    improvement_interval: Interval
    interquartile: float
    interquartile_interval: Interval

    def to_json(self) -> dict[str, Any]:
        """Values and intervals by name."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self._asdict().items()}


def paired_estimates(paired: PairedFigures, *, direction: Literal["up", "down"] = "up") -> PairedEstimates | None:
    """Estimate the probability of improvement and the interquartile mean.

        improvement    sum_ij ([x_i > y_j] + 1/2 [x_i = y_j]) / S^2     x of the method, y of the baseline; for "down" <
        interquartile  mean of x_s - y_s without the lowest and the highest quarter of the pairs

    The bootstrap resamples the runs of each side for the probability, and pairs for the interquartile mean.

    Args:
        paired: figures of S pairs.
        direction: of an improvement.

    Returns:
        None for fewer than two pairs, or with a figure that is not finite.

    Example:
        ours 1, 3 and theirs 1, 2: the improvement is 0.625 for "up" and 0.375 for "down"; of two pairs no quarter is a
        whole pair, so the interquartile mean is the mean, 0.5

    Paper: arXiv:2108.13264 (rliable), section 4.3.
    """
    ours, theirs = np.array(paired.ours), np.array(paired.theirs)
    if len(ours) < 2 or not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return None
    sides = (ours, theirs) if direction == "up" else (theirs, ours)
    differences = ours - theirs
    return PairedEstimates(
        improvement_probability(*sides),
        improvement_interval(*sides, level=LEVEL),
        interquartile_mean(differences),
        interquartile_interval(differences, level=LEVEL),
    )
