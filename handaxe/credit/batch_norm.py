"""Judge trajectories against their group, on the scale of the whole batch."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from handaxe.ops.ragged import rewards_of, scatter_group
from handaxe.ops.returns import Std, deviation
from handaxe.records import Rated
from handaxe.slots import Shape

__all__ = ["batch_norm"]


def batch_norm(*, mean: Literal["group", "batch"] = "group", std: Std = "sample", eps: float = 1e-6) -> Shape:
    """Replace advantages by rewards centred within the group (or batch) and scaled by the batch's spread.

        A_i,t = (R_i - mean) / (std_batch(R) + eps)        for sampled tokens t of trajectory i; 0 for all others

    R_i is the outcome plus the per-turn rewards. Statistics are over scored trajectories, not tokens, of all groups
    handed over, also those that do not train; groups that were not selected are not among them.

    Args:
        mean: over the siblings of trajectory i ("group") or over the batch ("batch").
        std: "sample" divides squares by n - 1, "population" by n.
        eps: added to the std, in units of reward.

    Returns:
        A shape: [Rated] -> [Rated], the same groups in the same order; value targets are kept. A lone sibling (with
        mean "group"), a group of equal rewards and unscored siblings get exactly 0; so does every sibling in a
        batch of equal rewards.

    Raises:
        InputError: for scores that do not fit their group or are infinite.

    Example:
        groups of rewards (1, 0) and (1, 1): batch std 0.5  ->  1, -1 and 0, 0     (mean "group")
                                                            ->  0.5, -1.5 and 0.5, 0.5     (mean "batch")

    Paper: arXiv:2508.08221 (Lite PPO): group mean, batch std. Unconfirmed: which std, and eps. Differs:
    nothing known.
    """

    def shape(rated: Sequence[Rated]) -> list[Rated]:
        rewards = [rewards_of(one.group, one.scores) for one in rated]
        every = np.concatenate([np.zeros(0), *rewards])
        every = every[~np.isnan(every)]
        scale = deviation(every, std)
        out = []
        for one, reward_G in zip(rated, rewards):
            around = every if mean == "batch" else reward_G[~np.isnan(reward_G)]
            value_G = np.zeros(len(reward_G))
            if scale and deviation(around, std):
                value_G = (reward_G - around.mean()) / (scale + eps)
            tokens = scatter_group(one.group, np.where(np.isnan(reward_G), 0.0, value_G))
            out.append(replace(one, advantages=replace(one.advantages, tokens=tokens)))
        return out

    return shape
