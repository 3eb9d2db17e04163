"""Effect of weights that change over steps, on the rewards of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores

__all__ = ["scale_effect"]


def scale_effect(*, parts: Mapping[str, tuple[Callable[[int], float], Reward]], last: Mapping[str, float]) -> Reward:
    """Score the change of a rollout's reward, relative to its group, between the weights of a step and the last ones.

        R_i = abs(sum_k (w_k(step) - last_k) (r_k,i - mean over the group of r_k))

    0 for constant weights, and for groups whose rollouts are equal in each part.

    Args:
        parts: name -> (weight as a function of the step, reward), as for `rewards.weighted`.
        last: name -> weight at the end of the change.

    Returns:
        A reward with outcome [G].

    Example:
        weights 2 now and 1 at the end, rewards 1 and 0  ->  0.5 and 0.5

    Paper: arXiv:2504.13958 (ToolRL), dynamic scales; the measure is not in the paper.
    Differs: nothing.
    """

    def reward(group: Group) -> Scores:
        moved_G = np.zeros(len(group))
        for name, (weight, part) in parts.items():
            own_G = part(group).outcome
            moved_G += (weight(group.step) - last[name]) * (own_G - own_G.mean())
        return Scores(np.abs(moved_G))

    return reward
