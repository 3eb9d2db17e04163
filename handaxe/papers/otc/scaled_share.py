"""Shares of correct rollouts and of groups whose rewards the tool efficiency of OTC changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.records import RatedGroup

__all__ = ["ScaledShare"]


class ScaledShare:
    """Learner that only counts: where the efficiency of `fewer_calls` changes rewards.

        rollouts = share of correct rollouts with an efficiency below 1, over all correct rollouts of a step
        groups   = share of groups whose correct rollouts have different efficiencies, over all groups of a step

    A rollout is correct if its channel "base" is above 0. Without a correct rollout, both are 0.

    Example:
        efficiencies of correct rollouts 1, 0.87 in one group and 1, 1 in another  ->  rollouts 0.25, groups 0.5

    Paper: arXiv:2504.14870 (OTC). The counts are not in the paper.
    """

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        del step
        found = [_efficiencies(one) for one in groups]
        every = np.concatenate([np.zeros(0), *found])
        differing = sum(len(own) > 0 and bool(np.ptp(own) > 0) for own in found)
        return {
            "rollouts": float((every < 1).mean()) if len(every) else 0.0,
            "groups": differing / max(1, len(groups)),
        }

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state


def _efficiencies(one: RatedGroup) -> np.ndarray:
    """Efficiencies of the correct rollouts of a group; the channels may have an outer reward's prefix."""
    channels = {name.rpartition("/")[2]: value for name, value in one.scores.channels.items()}
    return channels["efficiency"][channels["base"] > 0]
