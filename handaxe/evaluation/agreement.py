"""Distribution of scores, correlation with length, and agreement of two scores. Unscored rollouts are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import NamedTuple

import numpy as np
from scipy import stats

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.ops.ragged import group_rewards

__all__ = [
    "Agreement",
    "COVARIATES",
    "ChannelSummary",
    "GroupScores",
    "SAME",
    "agreement",
    "summarize_channels",
    "values_by_channel",
]

GroupScores = tuple[Group, Scores]

REWARD = "reward"
"""Channel of the total reward of a rollout: its outcome and its turns."""
COVARIATES: Mapping[str, Callable[[Trajectory], float]] = {
    "tokens": lambda one: float(one.num_tokens),
    "calls": lambda one: float(len(one.calls)),
    "turns": lambda one: float(len(one.turns)),
}
"""Measures of length that a reward should not follow."""
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
SAME = 1e-9
"""Largest difference of equal scores: sums over siblings are rounded by their order."""


class ChannelSummary(NamedTuple):
    """Distribution of a channel over rollouts.

    rollouts      with a score in the channel
    mean, std     of their values; std divides by n
    quantiles     minimum, first quartile, median, third quartile, maximum
    uniform       share of groups of two or more with equal values of all siblings; such groups have no gradient
    correlations  COVARIATES -> Spearman's rank correlation; NaN if one side is constant
    """

    name: str
    rollouts: int
    mean: float
    std: float
    quantiles: tuple[float, ...]
    uniform: float
    correlations: Mapping[str, float]


class Agreement(NamedTuple):
    """Agreement of two scores of the same rollouts; all NaN if no rollout has both.

    rollouts           with both scores
    equal              share of rollouts with equal scores, up to 1e-9
    spearman, kendall  rank correlations (tau-b); NaN if one side is constant
    kappa              Cohen's kappa, if both scores take the same two values at most; else NaN
    """

    rollouts: int
    equal: float
    spearman: float
    kendall: float
    kappa: float


def values_by_channel(scored: Sequence[GroupScores]) -> dict[str, list[np.ndarray]]:
    """Channel -> [G] array for each group; "reward" first. NaN in groups without the channel."""
    names = dict.fromkeys(name for _, scores in scored for name in scores.channels)
    out = {REWARD: [group_rewards(group, scores) for group, scores in scored]}
    for name in names:
        out[name] = [_channel(group, scores, name) for group, scores in scored]
    return out


def summarize_channels(scored: Sequence[GroupScores]) -> list[ChannelSummary]:
    """Summarize every channel; all NaN for a channel without scores.

    Example:
        rewards 0, 0, 1, 1 of rollouts of 1, 2, 3, 4 tokens  ->  mean 0.5, correlations {"tokens": 0.894}
    """
    measured = {name: np.array([of(one) for group, _ in scored for one in group]) for name, of in COVARIATES.items()}
    found = []
    for name, by_group in values_by_channel(scored).items():
        values = np.concatenate([np.zeros(0), *by_group])
        known = np.isfinite(values)
        if not known.any():
            missing = (nan,) * len(QUARTERS)
            found.append(ChannelSummary(name, 0, nan, nan, missing, nan, dict.fromkeys(measured, nan)))
            continue
        finite = values[known]
        several = [own[np.isfinite(own)] for own in by_group if np.isfinite(own).sum() > 1]
        found.append(
            ChannelSummary(
                name,
                int(known.sum()),
                float(finite.mean()),
                float(finite.std()),
                tuple(float(one) for one in np.quantile(finite, QUARTERS)),
                float(np.mean([np.ptp(own) <= SAME for own in several])) if several else nan,
                {of: _correlation(finite, against[known], stats.spearmanr) for of, against in measured.items()},
            )
        )
    return found


def agreement(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> Agreement:
    """Compare two scores of the same rollouts, by scipy and scikit-learn.

    Raises:
        InputError: their numbers differ.

    Example:
        1, 1, 0, 0 and 1, 0, 0, 0  ->  equal 0.75, kappa 0.5, kendall 0.577
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape:
        raise InputError(f"there are {a.size} scores and {b.size}; compare two scores of the same rollouts")
    both = np.isfinite(a) & np.isfinite(b)
    if not both.any():
        return Agreement(0, *[nan] * 4)
    a, b = a[both], b[both]
    values = np.unique(np.concatenate([a, b]))
    return Agreement(
        int(both.sum()),
        float(np.mean(np.abs(a - b) <= SAME)),
        _correlation(a, b, stats.spearmanr),
        _correlation(a, b, stats.kendalltau),
        _kappa(a, b) if len(values) == 2 else nan,
    )


def _channel(group: Group, scores: Scores, name: str) -> np.ndarray:
    values = np.array(scores.channels.get(name, np.full(len(group), np.nan)), np.float64)
    return np.where(np.isnan(scores.outcome), np.nan, values)


def _correlation(a: np.ndarray, b: np.ndarray, of: Callable[..., object]) -> float:
    """A rank correlation; NaN without scipy's warning if a side is constant."""
    if len(a) < 2 or np.ptp(a) <= SAME or np.ptp(b) <= SAME:
        return nan
    return float(of(a, b).statistic)  # type: ignore[attr-defined]


def _kappa(a: np.ndarray, b: np.ndarray) -> float:
    try:
        from sklearn.metrics import cohen_kappa_score
    except ImportError as error:
        raise InputError('agreement of two-valued scores needs scikit-learn: pip install "handaxe[lab]"') from error
    middle = (np.min([a.min(), b.min()]) + np.max([a.max(), b.max()])) / 2
    return float(cohen_kappa_score(a > middle, b > middle))
