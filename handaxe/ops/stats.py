"""Estimates from few trajectories with confidence intervals. Arrays are over T tasks, the unit of resampling."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from math import comb, inf, nan
from typing import NamedTuple

import numpy as np
import scipy  # scipy.stats takes a second: imported on use

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator

__all__ = [
    "Interval",
    "column_figures",
    "difference_figures",
    "improvement_interval",
    "improvement_probability",
    "interquartile_interval",
    "interquartile_mean",
    "interval_figures",
    "mean_interval",
    "pass_at_k",
    "pass_hat_k",
    "ratio",
    "ratio_difference_interval",
    "ratio_interval",
    "wilson_interval",
]


QUARTER = 0.25


class Interval(NamedTuple):
    """Two-sided interval; (-inf, inf) if the data allow no estimate."""

    low: float
    high: float


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate the probability that at least one of k rollouts is correct, without bias, from c correct of n.

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
    """Estimate the probability that all of k rollouts are correct (pass^k), without bias, from c correct of n.

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
    """Compute Wilson's score interval of a probability from independent trials; valid even if all or no trials succeed.

    Example:
        5 of 5  ->  (0.5655, 1)
    """
    if not trials:
        return Interval(0.0, 1.0)
    interval = scipy.stats.binomtest(successes, trials).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(interval.low), float(interval.high))


def mean_interval(values: Sequence[float] | np.ndarray, *, level: float = 0.95) -> Interval:
    """Compute Student's t interval of the mean of independent values, such as one difference per seed.

    Example:
        1, 2, 3  ->  2 -+ 4.3027 * 1 / sqrt(3), that is (-0.4841, 4.4841)
    """
    data = np.asarray(values, dtype=np.float64)
    if len(data) < 2:
        return Interval(-inf, inf)
    half = scipy.stats.t.ppf((1 + level) / 2, len(data) - 1) * data.std(ddof=1) / np.sqrt(len(data))
    return Interval(float(data.mean() - half), float(data.mean() + half))


def interval_figures(name: str, values: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Name the mean of values and the ends of `mean_interval`, as figures of a study.

    Returns:
        NAME, NAME/low and NAME/high; NaN, -inf and inf without values.

    Example:
        "gain" and 1, 2, 3  ->  gain 2, gain/low -0.4841, gain/high 4.4841
    """
    low, high = mean_interval(values)
    mean = float(np.mean(values)) if len(values) else nan
    return {name: mean, f"{name}/low": low, f"{name}/high": high}


def column_figures(
    columns: Mapping[str, Sequence[float] | np.ndarray], gains: Mapping[str, tuple[str, str]]
) -> dict[str, float]:
    """Name means and intervals of a study's columns, and of `difference_figures`, sorted by name.

    Example:
        a = 1, 2, 3, b = 1, 1, 1, gains {"gain": ("a", "b")}  ->  a 2, b 1, gain 1, each with /low and /high
    """
    found = difference_figures(columns, gains)
    for name, values in columns.items():
        found |= interval_figures(name, values)
    return dict(sorted(found.items()))


def difference_figures(
    columns: Mapping[str, Sequence[float] | np.ndarray], gains: Mapping[str, tuple[str, str]]
) -> dict[str, float]:
    """Name means and intervals of paired differences of columns.

    Args:
        columns: name -> a value per seed, in one order.
        gains: name -> column and the column to subtract.

    Returns:
        `interval_figures` of each difference.

    Example:
        a = 1, 2, 3, b = 1, 1, 1, gains {"gain": ("a", "b")}  ->  gain 1, gain/low -1.4841, gain/high 3.4841
    """
    found = dict[str, float]()
    for name, (one, other) in gains.items():
        found |= interval_figures(name, np.subtract(columns[one], columns[other]))
    return found


def interquartile_mean(values: Sequence[float] | np.ndarray) -> float:
    """Compute the mean without the lowest and the highest quarter of the values, each rounded down to whole values.

    Example:
        -9, 1, 2, 3, 4, 5, 6, 90  ->  (2 + 3 + 4 + 5) / 4 = 3.5, beside a mean of 12.75

    Paper: arXiv:2108.13264 (rliable), section 4.3.
    """
    return float(scipy.stats.trim_mean(np.asarray(values, dtype=np.float64), QUARTER))


def interquartile_interval(
    values: Sequence[float] | np.ndarray, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval:
    """Compute the percentile bootstrap interval of `interquartile_mean`; (-inf, inf) for fewer than two values."""

    def middle(data: np.ndarray, axis: int) -> np.ndarray:
        return scipy.stats.trim_mean(data, QUARTER, axis=axis)

    return _bootstrap(middle, (values,), level, resamples, seed)


def improvement_probability(ours: Sequence[float] | np.ndarray, theirs: Sequence[float] | np.ndarray) -> float:
    """Estimate the probability that a run of one side has a higher value than a run of the other side.

        U / (n m),   U = sum_ij [x_i > y_j] + 1/2 [x_i = y_j]          x of the first side, y of the other

    U is the statistic of Mann and Whitney.

    Args:
        ours: [n] values of the runs of the first side.
        theirs: [m] values of the runs of the other side.

    Example:
        ours 1, 3 and theirs 1, 2: of 4 comparisons 1 > 1 is a tie, 1 < 2, 3 > 1 and 3 > 2: (1/2 + 2) / 4 = 0.625

    Paper: arXiv:2108.13264 (rliable), section 4.3.
    """
    return float(_wins(np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64), axis=0))


def improvement_interval(
    ours: Sequence[float] | np.ndarray,
    theirs: Sequence[float] | np.ndarray,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Compute the percentile bootstrap interval of `improvement_probability`. The runs of each side are resampled
    independently, as rliable does; (-inf, inf) for fewer than two runs of a side."""
    return _bootstrap(_wins, (ours, theirs), level, resamples, seed, paired=False)


def _wins(ours: np.ndarray, theirs: np.ndarray, axis: int) -> np.ndarray:
    # "asymptotic" concerns the p-value alone, and an exact one would take longer than the statistic
    found = scipy.stats.mannwhitneyu(ours, theirs, axis=axis, method="asymptotic")
    return found.statistic / (ours.shape[axis] * theirs.shape[axis])


def ratio(top_T: np.ndarray, bottom_T: np.ndarray) -> float:
    """Compute sum(top) / sum(bottom); inf if only the bottom is 0, NaN if both are 0. A mean has a bottom of ones."""
    top, bottom = float(np.sum(top_T)), float(np.sum(bottom_T))
    if bottom == 0:
        return float("nan") if top == 0 else inf
    return top / bottom


def ratio_interval(
    top_T: np.ndarray, bottom_T: np.ndarray, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval:
    """Compute the percentile bootstrap interval of `ratio` over tasks; rollouts of one task may be dependent.

    Returns:
        The interval; (-inf, inf) for fewer than two tasks, and an infinite end if many resamples have bottom 0.
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
    """Compute the paired percentile bootstrap interval of ratio(after) - ratio(before), each (top_T, bottom_T) by
    task."""

    def difference(top, bottom, new_top, new_bottom, axis):
        return _ratios(new_top, new_bottom, axis) - _ratios(top, bottom, axis)

    return _bootstrap(difference, (*before, *after), level, resamples, seed)


def _ratios(top: np.ndarray, bottom: np.ndarray, axis: int) -> np.ndarray:
    return np.sum(top, axis=axis) / np.sum(bottom, axis=axis)


def _bootstrap(
    statistic: Callable[..., np.ndarray],
    columns: tuple[Sequence[float] | np.ndarray, ...],
    level: float,
    resamples: int,
    seed: int,
    *,
    paired: bool = True,
) -> Interval:
    data = tuple(np.asarray(column, dtype=np.float64) for column in columns)
    if paired and len({len(column) for column in data}) != 1:
        raise InputError(f"the columns have different lengths {[len(column) for column in data]}: give one row a task")
    if min(map(len, data)) < 2:
        return Interval(-inf, inf)
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.stats.DegenerateDataWarning)  # a resample with bottom 0; see below
        interval = scipy.stats.bootstrap(
            data,
            statistic,
            paired=paired,
            vectorized=True,
            method="percentile",
            confidence_level=level,
            n_resamples=resamples,
            batch=250,
            random_state=generator("bootstrap", seed),
        ).confidence_interval
    low, high = float(interval.low), float(interval.high)  # NaN if the quantile falls among infinities
    return Interval(-inf if np.isnan(low) else low, inf if np.isnan(high) else high)


def _check_counts(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise InputError(f"n={n} rollouts, c={c} correct, k={k}: give 0 <= c <= n and 1 <= k <= n")
