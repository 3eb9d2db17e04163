"""Estimates with intervals: how sure a number from a few attempts is. Arrays are over T tasks, which are resampled."""

import warnings
from collections.abc import Callable, Sequence
from math import comb, inf
from typing import NamedTuple

import numpy as np
from scipy import stats

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator

__all__ = [
    "Interval",
    "mean_interval",
    "pass_at_k",
    "pass_hat_k",
    "ratio",
    "ratio_difference_interval",
    "ratio_interval",
    "wilson_interval",
]


class Interval(NamedTuple):
    """Two-sided interval; (-inf, inf) where the data say nothing."""

    low: float
    high: float


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that at least one of k attempts is right, estimated without bias from c right ones of n.

        1 - C(n - c, k) / C(n, k)

    Raises:
        InputError: unless 0 <= c <= n and 1 <= k <= n.

    Example:
        n = 4, c = 1, k = 2  ->  1 - 3 / 6 = 0.5
    Paper: arXiv:2107.03374, equation 1.
    """
    _check_counts(n, c, k)
    return 1.0 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Chance that all of k attempts are right (pass^k), estimated without bias from c right ones of n.

        C(c, k) / C(n, k)

    Raises:
        InputError: unless 0 <= c <= n and 1 <= k <= n.

    Example:
        n = 4, c = 3, k = 2  ->  3 / 6 = 0.5
    Paper: arXiv:2406.12045 (tau-bench).
    """
    _check_counts(n, c, k)
    return comb(c, k) / comb(n, k)


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Wilson's score interval of a probability, from independent trials; honest even when all or none succeed.

    Example:
        5 of 5  ->  (0.5655, 1)
    """
    if not trials:
        return Interval(0.0, 1.0)
    found = stats.binomtest(successes, trials).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(found.low), float(found.high))


def mean_interval(values: Sequence[float] | np.ndarray, *, level: float = 0.95) -> Interval:
    """Student's t interval of the mean of independent values, such as one difference for each seed.

    Example:
        1, 2, 3  ->  2 -+ 4.3027 * 1 / sqrt(3), that is (-0.4841, 4.4841)
    """
    data = np.asarray(values, dtype=np.float64)
    if len(data) < 2:
        return Interval(-inf, inf)
    half = stats.t.ppf((1 + level) / 2, len(data) - 1) * data.std(ddof=1) / np.sqrt(len(data))
    return Interval(float(data.mean() - half), float(data.mean() + half))


def ratio(top_T: np.ndarray, bottom_T: np.ndarray) -> float:
    """sum(top) / sum(bottom); inf when only the bottom is 0, NaN when both are. A mean has a bottom of ones."""
    top, bottom = float(np.sum(top_T)), float(np.sum(bottom_T))
    if bottom == 0:
        return float("nan") if top == 0 else inf
    return top / bottom


def ratio_interval(
    top_T: np.ndarray, bottom_T: np.ndarray, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval:
    """Percentile bootstrap interval of `ratio` over tasks, so that the attempts of one task need not be independent.

    Returns:
        The interval; (-inf, inf) with fewer than two tasks, and an infinite end where many resamples have no bottom.
    """
    return _bootstrap(_ratios, (top_T, bottom_T), level, resamples, seed)


def ratio_difference_interval(
    before: tuple[np.ndarray, np.ndarray],
    after: tuple[np.ndarray, np.ndarray],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Paired percentile bootstrap interval of ratio(after) - ratio(before), each a (top_T, bottom_T) of the tasks."""

    def difference(top, bottom, new_top, new_bottom, axis):
        return _ratios(new_top, new_bottom, axis) - _ratios(top, bottom, axis)

    return _bootstrap(difference, (*before, *after), level, resamples, seed)


def _ratios(top: np.ndarray, bottom: np.ndarray, axis: int) -> np.ndarray:
    return np.sum(top, axis=axis) / np.sum(bottom, axis=axis)


def _bootstrap(
    statistic: Callable[..., np.ndarray], columns: tuple[np.ndarray, ...], level: float, resamples: int, seed: int
) -> Interval:
    data = tuple(np.asarray(column, dtype=np.float64) for column in columns)
    if len({len(column) for column in data}) != 1:
        raise InputError(f"columns of different lengths {[len(column) for column in data]} cannot be of the same tasks")
    if len(data[0]) < 2:
        return Interval(-inf, inf)
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # a resample without a bottom; see below
        found = stats.bootstrap(
            data,
            statistic,
            paired=True,
            vectorized=True,
            method="percentile",
            confidence_level=level,
            n_resamples=resamples,
            batch=250,
            random_state=generator("bootstrap", seed),
        ).confidence_interval
    low, high = float(found.low), float(found.high)  # NaN where the quantile falls among infinities
    return Interval(-inf if np.isnan(low) else low, inf if np.isnan(high) else high)


def _check_counts(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise InputError(f"n={n} attempts, c={c} right, k={k}: give 0 <= c <= n and 1 <= k <= n")
