"""Turn-normalized credit: compares each turn with the turns of the group."""

from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import group_rewards, scatter, statistics_mask, token_rewards, token_turn_indices, turn_channel
from handaxe.ops.returns import LoneReward, Std, discounted_returns, standardise

__all__ = ["turn_norm"]

Norm = Literal["joint", "index"]
Order = Literal["normalise_first", "sum_first"]
Weigh = Literal["turn", "trajectory"]


def turn_norm(
    *,
    norm: Norm | None = "joint",
    gamma: float = 1.0,
    order: Order = "normalise_first",
    std: Std | None = "sample",
    eps: float = 1e-6,
    lone: LoneReward = "zero",
    channel: str | None = None,
    stats_over: Literal["all", "eligible"] = "all",
    weigh: Weigh = "turn",
) -> Credit:
    """Give every token of a turn the rewards of the turn and later ones, normalized over the turns of the group.

        normalise_first   z_ik = (r_ik - mean) / (std + eps)            A_ik = sum_{l >= k} gamma^(l - k) z_il
        sum_first         D_ik = sum_{l >= k} gamma^(l - k) r_il        A_ik = (D_ik - mean) / (std + eps)
        A_i,t = A_ik for sampled tokens t of turn k of sibling i; 0 for all others

    Mean and std are over turns, independent of their tokens: over all turns of all siblings ("joint"), or over the
    turns of one index k of all siblings that reach it ("index"). r_ik is the reward of turn k; the outcome is added to
    the last turn. Weighed by trajectory, mean_i mean_k r_ik and mean_i mean_k (r_ik - mean)^2 replace mean and variance
    over turns, so that rollouts have equal weight at any number of turns.

    normalise_first is biased if the policy decides when to stop: the number of means subtracted from a rollout depends
    on its own later actions, a hidden price on further turns (verl issue 7244, by index; joint likewise). By index
    after the sum, a turn is compared with others at the same index, and the gradient of index k is only scaled, by
    E[(n_k - 1) / n_k] for n_k siblings that reach it (std None).

    Args:
        norm: "joint", "index", or None: neither mean nor std, only the sum.
        gamma: discount, in [0, 1], per turn.
        order: normalize turns before or after the sum to go.
        std: "sample" divides squares by n - 1, "population" by n, None does not scale.
        eps: added to the std.
        lone: advantage of a single counted turn: "zero", or its own "reward" (mean 0, std 1).
        channel: the entry of `Scores.turn_channels` with r instead of turns and outcome.
        stats_over: "all" scored siblings, or the siblings of `Scores.eligible`; the others then get 0.
        weigh: equal weights in mean and std for each "turn" or "trajectory"; by index there is one turn a trajectory,
            and both are the same.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Values equal up to rounding give exactly 0; an
        unscored sibling (outcome NaN) gets 0 and its turns count nowhere. Under "joint" the turns of a single sibling
        are compared with each other; under "index" each of them is lone.

    Raises:
        InputError: a gamma outside [0, 1], an unknown norm, order or weigh, an unknown channel, and scores that do not
            fit the group or are infinite.

    Example:
        joint, turns (0.2, 0.1, 1) and (0.05, -0.05, 0): mean 0.21667, std 0.39328
        z of the first -0.0424, -0.2967, 1.9918  ->  1.6528, 1.6952, 1.9918 and -1.6528, -1.2290, -0.5509
        index, sum_first, gamma 0.9, turns (0.75, 1, 0.5) and (0, 0, 1): D = 2.055, 1.45, 0.5 and 0.81, 0.9, 1
        ->  0.7071, 0.7071, -0.7071 and -0.7071, -0.7071, 0.7071
        joint, population, by trajectory, turns (0.2, 0.2, -0.2) and (-0.2, 0.2): mean 0.03333, std 0.19720
        z = 0.8452, 0.8452, -1.1832 and -1.1832, 0.8452  ->  0.5071, -0.3381, -1.1832 and -0.3381, 0.8452

    Paper: arXiv:2510.14967 (IGPO), joint; arXiv:2601.10712 (MatchTIR), index, sum_first, gamma 0.9, lone "reward";
    arXiv:2511.10395 (AgentEvolver), joint, population, by trajectory.
    Unconfirmed: IGPO's joint form, from memory.
    Differs: IGPO's released code sums first, and subtracts the group's mean at the same token position, without std;
    AgentEvolver's adds 1e-8 to the variance.
    """
    if not 0 <= gamma <= 1 or norm not in ("joint", "index", None) or order not in ("normalise_first", "sum_first"):
        raise InputError(
            f"turn_norm takes a gamma in [0, 1], the norm joint, index or None and the order normalise_first or "
            f"sum_first, not {gamma}, {norm!r}, {order!r}"
        )
    if weigh not in ("turn", "trajectory"):
        raise InputError(f"turn_norm takes weigh='turn' or 'trajectory', not {weigh!r}")

    def credit(group: Group, scores: Scores) -> Advantages:
        values = _values(group, scores, channel)
        counted_G = statistics_mask(group, scores, group_rewards(group, scores), stats_over)
        if order == "sum_first":
            values = [discounted_returns(own, gamma) for own in values]
        values = _normalised(values, counted_G, norm, std=std, eps=eps, lone=lone, weigh=weigh)
        if order == "normalise_first":
            values = [discounted_returns(own, gamma) for own in values]
        return Advantages(
            tuple(scatter(one, own[token_turn_indices(one)]) for one, own in zip(group, values, strict=True))
        )

    return credit


def _values(group: Group, scores: Scores, channel: str | None) -> list[np.ndarray]:
    """[N_i] a sibling: r of the docstring; 0 for unscored siblings."""
    return token_rewards(group, scores, turns=True) if channel is None else turn_channel(group, scores, channel)


def _normalised(
    values: list[np.ndarray],
    counted_G: np.ndarray,
    norm: Norm | None,
    *,
    std: Std | None,
    eps: float,
    lone: LoneReward,
    weigh: Weigh,
) -> list[np.ndarray]:
    """Turns of counted siblings, normalized over each other; 0 for the rest."""
    sizes = [len(own) for own in values]
    flat = np.concatenate([np.zeros(0), *values])
    there = np.repeat(counted_G, sizes)
    if norm is None:
        flat = np.where(there, flat, 0.0)
    elif norm == "joint":
        of_turn = np.repeat([1 / max(size, 1) for size in sizes], sizes) if weigh == "trajectory" else None
        flat = standardise(flat, there, std=std, eps=eps, lone=lone, weights=of_turn)
    else:
        index = np.concatenate([np.zeros(0, int), *[np.arange(size) for size in sizes]])
        out = np.zeros(len(flat))
        for k in range(max(sizes, default=0)):
            here = there & (index == k)
            out += standardise(flat, here, std=std, eps=eps, lone=lone)
        flat = out
    return np.split(flat, np.cumsum(sizes)[:-1]) if sizes else []
