"""Group-normalized credit: compares each rollout with its siblings."""

from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import group_rewards, scatter_group, statistics_mask
from handaxe.ops.returns import LoneReward, Std, standardise

__all__ = ["group_norm"]


def group_norm(
    *,
    std: Std | None = "sample",
    eps: float = 1e-6,
    stats_over: Literal["all", "eligible"] = "all",
    lone: LoneReward = "zero",
    channel: str | None = None,
    unit: Literal["rollout", "turn"] = "rollout",
) -> Credit:
    """Give every sampled token the trajectory's reward, centred and scaled within the group.

        A_i,t = (R_i - mean(R)) / (std(R) + eps)        for sampled tokens t of trajectory i
        A_i,t = 0                                       for prompt, template and tool tokens

    R_i is the outcome plus the per-turn rewards. Mean and std are over trajectories, each with weight 1, independent of
    its tokens and sequences. Over turns (`unit`), R_i counts once for each turn of trajectory i.

    Args:
        std: "sample" divides squares by n - 1 (released code), "population" by n, None does not scale (Dr. GRPO).
        eps: added to the std, in units of reward; 1e-6 in released code.
        stats_over: "all" scored siblings, or the siblings of `Scores.eligible`; the others then get 0.
        lone: advantage of a single counted sibling: "zero", or its own "reward" (mean 0, std 1, as in released code).
        channel: use this channel of the scores instead of the total reward.
        unit: mean and std over "rollout", every trajectory once, or over "turn", once a turn, as in a trainer with
            turns as samples (AgentFlow's); long trajectories then have more weight.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Rewards equal up to rounding give exactly 0; an
        unscored sibling (outcome NaN) gets 0 and counts nowhere.

    Raises:
        InputError: an unknown channel, `stats_over` or `unit`, and scores that do not fit the group or are infinite.

    Example:
        rewards 1, 0, 0, 1  ->  0.8660, -0.8660, -0.8660, 0.8660     (sample; +-1 with population)
        rewards 1, 0, 0, 0  ->  1.5, -0.5, -0.5, -0.5                (sample; 1.7321, -0.5774, ... with population)
        rewards 1, 0, 0, 0  ->  0.75, -0.25, -0.25, -0.25            (std None)
        rewards 1 of three turns, 0 of one  ->  0.5, -1.5            (unit "turn": of 1, 1, 1, 0)
                                            ->  0.7071, -0.7071      (unit "rollout")

    Paper: arXiv:2402.03300 (GRPO), section 4.1.2; std None: arXiv:2503.20783 (Dr. GRPO); unit "turn": Flow-GRPO
    (AgentFlow), its released trainer. Unconfirmed: that Flow-GRPO's paper means unit "rollout". Differs: the paper
    leaves the kind of std open; a lone sibling gets 0 by default.
    """
    if unit not in ("rollout", "turn"):
        raise InputError(f"group_norm takes unit='rollout' or 'turn', not {unit!r}")

    def credit(group: Group, scores: Scores) -> Advantages:
        reward_G = group_rewards(group, scores, channel=channel)
        counted_G = statistics_mask(group, scores, reward_G, stats_over)
        if unit == "turn" and counted_G.sum() > 1:
            turns_G = np.array([len(one.turns) for one in group], int)
            level_G = _over_turns(reward_G, counted_G, turns_G, std, eps)
        else:
            level_G = standardise(reward_G, counted_G, std=std, eps=eps, lone=lone)
        return Advantages(scatter_group(group, level_G))

    return credit


def _over_turns(
    reward_G: np.ndarray, counted_G: np.ndarray, turns_G: np.ndarray, std: Std | None, eps: float
) -> np.ndarray:
    """[G]: `standardise` with each sibling repeated once a turn; 0 for a sibling without turns."""
    found_N = standardise(np.repeat(reward_G, turns_G), np.repeat(counted_G, turns_G), std=std, eps=eps)
    out = np.zeros(len(reward_G))
    active_G = turns_G > 0
    out[active_G] = found_N[(np.cumsum(turns_G) - turns_G)[active_G]]
    return out
