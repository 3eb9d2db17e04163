"""Learner for metrics: how far the sampling probabilities are from uniform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.records import RatedGroup

__all__ = ["SamplerMonitor"]


class SamplerMonitor:
    """Learner without updates that reports the probabilities of the last step.

        tilt    half of the sum of |P_i - 1 / N|, the share of draws that differ from uniform ones
        most    largest N * P_i

    Metrics are learner/sampler_monitor/NAME, none before the first step.

    Example:
        P 0.726 and 0.274: tilt 0.226, most 1.452

    Idea: a sampler that stays uniform does not act.
    """

    def __init__(self) -> None:
        self._figures: dict[str, float] = {}

    def note(self, probability_N: np.ndarray) -> None:
        """Store the figures of a step's probabilities."""
        count = len(probability_N)
        self._figures = {
            "tilt": float(np.abs(probability_N - 1 / count).sum() / 2),
            "most": float(count * probability_N.max()),
        }

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Report the figures; nothing is learned."""
        del groups, step
        return dict(self._figures)

    def state_dict(self) -> dict[str, Any]:
        return dict(self._figures)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._figures = {name: float(value) for name, value in state.items()}
