"""Learner that learns nothing: the gap between a reward model and the rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.records import RatedGroup

__all__ = ["RewardGap", "reward_gap"]


def reward_gap(*, model: str, truth: str) -> RewardGap:
    """Measure how far a reward model's score is above the truth in the rollouts of each step.

        gap = mean of channel `model` - mean of channel `truth`,   over scored rollouts

    A reward model that is hacked has a growing gap.

    Args:
        model, truth: channels of the scores, both between 0 and 1.

    Returns:
        A learner with the metric gap.

    Example:
        scores 0.9, 0.7 with truth 1, 0  ->  gap 0.3

    Paper: arXiv:2508.05613 (Cooper), reward and accuracy over training.
    Differs: nothing.
    """
    return RewardGap(model, truth)


class RewardGap:
    """See `reward_gap`."""

    def __init__(self, model: str, truth: str):
        self._model, self._truth = model, truth

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Measure; nothing is learned."""
        del step
        gaps = [one.scores.channels[self._model] - one.scores.channels[self._truth] for one in groups]
        flat = np.concatenate([np.zeros(0), *gaps])
        flat = flat[~np.isnan(flat)]
        return {"gap": float(flat.mean()) if len(flat) else 0.0}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state
