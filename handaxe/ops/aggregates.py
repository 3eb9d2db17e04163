"""Aggregates of the scores of steps to the score of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np

__all__ = ["AGGREGATES", "Aggregate", "PROBABILITY_AGGREGATES"]

Aggregate = Literal["last", "min", "max", "mean", "sum", "prod", "geometric", "mean_logit", "mean_odds"]
PROBABILITY_AGGREGATES: tuple[Aggregate, ...] = ("prod", "geometric", "mean_logit", "mean_odds")
"""Aggregates of probabilities between 0 and 1."""
EPS = 1e-6


def _clipped(step_N: np.ndarray) -> np.ndarray:
    return np.clip(step_N, EPS, 1 - EPS)


def _mean_logit(step_N: np.ndarray) -> float:
    clipped = _clipped(step_N)
    return float(np.mean(np.log(clipped / (1 - clipped))))


def _mean_odds(step_N: np.ndarray) -> float:
    clipped = _clipped(step_N)
    return float(np.mean(clipped / (1 - clipped)))


AGGREGATES: Mapping[Aggregate, Callable[[np.ndarray], float]] = MappingProxyType(
    {
        "last": lambda step_N: float(step_N[-1]),
        "min": lambda step_N: float(np.min(step_N)),
        "max": lambda step_N: float(np.max(step_N)),
        "mean": lambda step_N: float(np.mean(step_N)),
        "sum": lambda step_N: float(np.sum(step_N)),
        "prod": lambda step_N: float(np.prod(step_N)),
        "geometric": lambda step_N: float(np.exp(np.mean(np.log(_clipped(step_N))))),
        "mean_logit": _mean_logit,
        "mean_odds": _mean_odds,
    }
)
"""Name -> [N] scores of at least one step to a score. Probabilities are cut to [1e-6, 1 - 1e-6] for logarithms."""
