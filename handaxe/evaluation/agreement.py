"""How scores are spread, what they go along with, and how far two agree; attempts without a score count nowhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import NamedTuple

import numpy as np
from scipy import stats

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.ops.ragged import rewards_of

__all__ = ["Agreement", "COVARIATES", "Channel", "SAME", "Scored", "agreement", "channels_of", "spread"]

Scored = tuple[Group, Scores]

REWARD = "reward"
"""The channel that holds all an attempt earned: its outcome and its turns."""
COVARIATES: Mapping[str, Callable[[Trajectory], float]] = {
    "tokens": lambda one: float(one.num_tokens),
    "calls": lambda one: float(len(one.calls)),
    "turns": lambda one: float(len(one.turns)),
}
"""What a reward should not be mistaken for."""
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
SAME = 1e-9
"""Scores that differ by no more are equal: rounding that depends on the order of siblings is no fault."""


class Channel(NamedTuple):
    """How one channel is spread over attempts.

    quantiles  least, first quarter, median, third quarter, most
    alike      the share of groups of two or more whose siblings all have the same value: they teach nothing
    along      by COVARIATES: Spearman's rank correlation, NaN where one of the two never varies
    """

    name: str
    attempts: int
    mean: float
    deviation: float
    quantiles: tuple[float, ...]
    alike: float
    along: Mapping[str, float]


class Agreement(NamedTuple):
    """How far two scores of the same attempts agree; all NaN where no attempt has both.

    attempts  that have both
    equal     share of attempts with the same value, up to 1e-9
    spearman, kendall  rank correlations (tau-b); NaN where one of the two never varies
    kappa     Cohen's, where both have at most two values, the same ones; else NaN
    """

    attempts: int
    equal: float
    spearman: float
    kendall: float
    kappa: float


def channels_of(scored: Sequence[Scored]) -> dict[str, list[np.ndarray]]:
    """Every channel, a [G] array a group; "reward" first. Channels that not all groups have are NaN in the others."""
    names = dict.fromkeys(name for _, scores in scored for name in scores.channels)
    out = {REWARD: [rewards_of(group, scores) for group, scores in scored]}
    for name in names:
        out[name] = [_channel(group, scores, name) for group, scores in scored]
    return out


def spread(scored: Sequence[Scored]) -> list[Channel]:
    """How every channel of some scores is spread; all NaN where no attempt has a score in it.

    Example:
        rewards 0, 0, 1, 1 of attempts of 1, 2, 3, 4 tokens  ->  mean 0.5, along {"tokens": 0.894}
    """
    measured = {name: np.array([of(one) for group, _ in scored for one in group]) for name, of in COVARIATES.items()}
    found = []
    for name, by_group in channels_of(scored).items():
        values = np.concatenate([np.zeros(0), *by_group])
        known = np.isfinite(values)
        if not known.any():
            found.append(Channel(name, 0, nan, nan, (nan,) * len(QUARTERS), nan, dict.fromkeys(measured, nan)))
            continue
        kept = values[known]
        several = [own[np.isfinite(own)] for own in by_group if np.isfinite(own).sum() > 1]
        found.append(
            Channel(
                name,
                int(known.sum()),
                float(kept.mean()),
                float(kept.std()),
                tuple(float(one) for one in np.quantile(kept, QUARTERS)),
                float(np.mean([np.ptp(own) <= SAME for own in several])) if several else nan,
                {of: _ranked(kept, against[known], stats.spearmanr) for of, against in measured.items()},
            )
        )
    return found


def agreement(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> Agreement:
    """How far two scores of the same attempts agree, by scipy and scikit-learn.

    Raises:
        InputError: they are not equally many.

    Example:
        1, 1, 0, 0 and 1, 0, 0, 0  ->  equal 0.75, kappa 0.5, kendall 0.577
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape:
        raise InputError(f"there are {a.size} scores and {b.size}; compare two of the same attempts")
    both = np.isfinite(a) & np.isfinite(b)
    if not both.any():
        return Agreement(0, *[nan] * 4)
    a, b = a[both], b[both]
    values = np.unique(np.concatenate([a, b]))
    return Agreement(
        int(both.sum()),
        float(np.mean(np.abs(a - b) <= SAME)),
        _ranked(a, b, stats.spearmanr),
        _ranked(a, b, stats.kendalltau),
        _kappa(a, b) if len(values) == 2 else nan,
    )


def _channel(group: Group, scores: Scores, name: str) -> np.ndarray:
    values = np.array(scores.channels.get(name, np.full(len(group), np.nan)), np.float64)
    return np.where(np.isnan(scores.outcome), np.nan, values)


def _ranked(a: np.ndarray, b: np.ndarray, of: Callable[..., object]) -> float:
    """A rank correlation; scipy warns where one of the two never varies."""
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
