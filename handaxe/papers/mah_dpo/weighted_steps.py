"""Weighted sum of the process rewards of several objectives, with weights of the user."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import StepJudge
from handaxe.core.records import Group

__all__ = ["WeightedSteps", "weighted_steps"]


def weighted_steps(members: Mapping[str, StepJudge], weights: Mapping[str, float]) -> WeightedSteps:
    """Make a judge of turns from judges of several objectives.

        r_k = sum_h w_h r_hk          score of a rollout = mean over its turns

    A member with the weight 0 is not asked, so that weights (1, 0) equal the first member alone, bit for bit. Without a
    weight above or below 0 every turn scores 0.

    Args:
        members: objective -> judge of turns.
        weights: objective -> weight; a missing objective has the weight 0.

    Returns:
        A StepJudge, such as for `rollouts.search.best_step`.

    Raises:
        InputError: a weight of an objective without a judge, or a weight that is not finite.

    Example:
        rewards 1, 0.5 and 0.4, 0.8 of two turns, weights 0.5, 0.5  ->  0.7, 0.65; score 0.675

    Paper: arXiv:2510.01167 (MAH-DPO), decoding guided by process rewards with weights of objectives.
    Differs: nothing known.
    Unconfirmed: the sum; the released code selects by the score of one model.
    """
    if unknown := sorted(set(weights) - set(members)):
        raise InputError(f"weights name {', '.join(unknown)}, but the judges are of {', '.join(members)}")
    if not all(isfinite(weight) for weight in weights.values()):
        raise InputError(f"weights of objectives are finite numbers, not {dict(weights)}")
    return WeightedSteps({name: (members[name], float(weight)) for name, weight in weights.items() if weight})


class WeightedSteps:
    """See `weighted_steps`."""

    def __init__(self, members: Mapping[str, tuple[StepJudge, float]]):
        self._members = members

    def score(self, group: Group) -> np.ndarray:
        """[G]: mean over turns; 0 without turns."""
        return np.array([own.mean() if len(own) else 0.0 for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        total = [np.zeros(len(one.turns)) for one in group]
        for judge, weight in self._members.values():
            total = [one_N + weight * own_N for one_N, own_N in zip(total, judge.score_steps(group), strict=True)]
        return tuple(total)
