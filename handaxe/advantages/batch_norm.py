"""Normalize advantages by group mean and batch standard deviation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup
from handaxe.ops.ragged import group_rewards, scatter_group
from handaxe.ops.returns import Std, standard_deviation, standardise

__all__ = ["batch_norm"]


Of = Literal["reward", "centred", "standardised"]
BATCH_EPS = 1e-9
"""Constant added to the std of standardised rewards, as in the released code."""


def batch_norm(
    *, of: Of = "reward", mean: Literal["group", "batch"] = "group", std: Std = "sample", eps: float = 1e-6
) -> AdvantageTransform:
    """Replace advantages by rewards centred within the group (or batch) and scaled by the batch's spread.

        of "reward"         A_i,t = (R_i - mean) / (std_batch(R) + eps)
        of "centred"        A_i,t = (R_i - mean_group) / (std_batch(R - mean_group) + eps)
        of "standardised"   A_i,t = z_i / (std_batch(z) + 1e-9)        z_i = (R_i - mean_group) / (std_group + eps)
                                                             for sampled tokens t of trajectory i; 0 for all others

    R_i is the outcome plus the per-turn rewards. Statistics are over scored trajectories, not tokens, of all input
    groups, trained or not; unselected groups are not in the input. The mean of z is 0 over the batch and over every
    group. Groups of equal rewards count in the spread: more of them make the spread smaller and the advantages of other
    groups larger.

    Args:
        of: quantity of the batch's std: rewards, rewards centred within their group, or rewards standardised within
            their group (BN-GSPO).
        mean: over the siblings of trajectory i ("group") or, of "reward", over the batch ("batch").
        std: "sample" divides squares by n - 1, "population" by n. With of="standardised" it applies to the group; the
            batch's std is then always of the population.
        eps: added to this std, in units of reward.

    Returns:
        A transform: [RatedGroup] -> [RatedGroup], the same groups in the same order; value targets are kept. A lone
        sibling (with mean "group"), a group of equal rewards and unscored siblings get exactly 0; so does every sibling
        in a batch of equal rewards.

    Raises:
        InputError: another word for `of`, or a batch mean of group-centred rewards; scores that are infinite or do not
            fit their group.

    Example:
        groups of rewards (1, 0) and (1, 1): batch std 0.5  ->  1, -1 and 0, 0     (mean "group")
                                                            ->  0.5, -1.5 and 0.5, 0.5     (mean "batch")
        (1, 0, 0, 0) and (1, 1, 1, 0)   "reward"        ->  1.4031, -0.4677 (three times) and 0.4677 (three), -1.4031
                                        "centred"       ->  1.6202, -0.5401 (three times) and 0.5401 (three), -1.6202
                                        "standardised"  ->  1.7321, -0.5774 (three times) and 0.5774 (three), -1.7321
        with a third group (0, 0, 0, 0) "standardised"  ->  2.1213 instead of 1.7321

    Paper: arXiv:2508.08221 (Lite PPO): group mean, batch std, of "reward" or "centred"; arXiv:2512.24330
    (SenseNova-MARS), BN-GSPO, of "standardised". Unconfirmed: which of the two Lite PPO's std is, and its eps. Differs:
    nothing known.
    """
    if of not in ("reward", "centred", "standardised"):
        raise InputError(f"batch_norm takes of='reward', 'centred' or 'standardised', not {of!r}")
    if of != "reward" and mean != "group":
        raise InputError(f"batch_norm(of={of!r}) is centred within the group; leave mean={mean!r} out")

    def shape(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        rewards = [group_rewards(one.group, one.scores) for one in rated]
        scale = _spread(rewards, of, std, eps)
        out = []
        for one, reward_G in zip(rated, rewards):
            value_G = np.zeros(len(reward_G))
            if scale:
                value_G = _centred(reward_G, rewards, of, mean, std, eps) / scale
            tokens = scatter_group(one.group, value_G)
            out.append(replace(one, advantages=replace(one.advantages, tokens=tokens)))
        return out

    return shape


def _spread(rewards: Sequence[np.ndarray], of: Of, std: Std, eps: float) -> float:
    """Return the divisor of the batch's advantages; 0 if all advantages are 0."""
    own = rewards if of == "reward" else [_centred(one, rewards, of, "group", std, eps) for one in rewards]
    scored = [values_G[~np.isnan(reward_G)] for values_G, reward_G in zip(own, rewards, strict=True)]
    every = np.concatenate([np.zeros(0), *scored])
    if of == "standardised":
        scale = standard_deviation(every, "population")
        return scale and scale + BATCH_EPS
    scale = standard_deviation(every, std)
    return scale and scale + eps


def _centred(
    reward_G: np.ndarray, rewards: Sequence[np.ndarray], of: Of, mean: str, std: Std, eps: float
) -> np.ndarray:
    """[G] advantages of a group before division by the batch's spread; 0 for unscored siblings."""
    scored_G = ~np.isnan(reward_G)
    if mean == "group":
        return standardise(reward_G, scored_G, std=std if of == "standardised" else None, eps=eps)
    every = np.concatenate(rewards)
    every = every[~np.isnan(every)]
    return np.where(scored_G, reward_G - every.mean(), 0.0)
