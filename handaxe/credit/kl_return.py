"""REINFORCE++ credit: token returns with a KL penalty inside the reward."""

from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops import returns
from handaxe.ops.ragged import group_rewards, kl_penalty, scatter, statistics_mask, token_rewards

__all__ = ["kl_return"]


def kl_return(
    *,
    kl_coefficient: float = 0.0,
    gamma: float = 1.0,
    baseline: Literal["none", "group"] = "none",
    stats_over: Literal["all", "eligible"] = "all",
) -> Credit:
    """Give every sampled token the discounted rewards from that token on, with the KL penalty to a reference.

        k_s = old_logp_s - ref_logp_s
        A_t = sum_{s >= t} gamma^(s - t) * (r_s - beta * k_s)                  for sampled tokens; 0 for all others
        A_t = R_i - mean(R) - sum_{s >= t} gamma^(s - t) * beta * k_s          with baseline "group"

    r_s is the reward of a turn at its last token, plus the outcome at the very last one, and 0 elsewhere. Steps are the
    policy's tokens, through all turns and sequences. R_i is the outcome plus the per-turn rewards, with the mean over
    the group's trajectories.

    Args:
        kl_coefficient: beta, per nat; 0 needs no feature.
        gamma: discount, in [0, 1], per token.
        baseline: "none", or "group" for the variant with the group's mean as baseline.
        stats_over: with "group", the mean is over "all" scored siblings or the siblings of `Scores.eligible`; the
            others then get 0.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. The paper whitens advantages over the whole
        batch: add `batch_whiten`. With "group" and no KL, a single sibling or equal rewards give 0; an unscored sibling
        (outcome NaN) always gets 0.

    Raises:
        InputError: a gamma outside [0, 1], an unknown baseline, a missing feature (old_logp or ref_logp, if
            kl_coefficient is not 0), and scores that do not fit the group or are infinite.

    Example:
        two tokens, outcome 1, kl_coefficient 0.1, old_logp -0.5, -1, ref_logp -1, -0.8:
        r = -0.05, 1 + 0.02  ->  0.97, 1.02
        three one-token siblings with outcomes 1, 1, 0 give 1, 1, 0, and after `batch_whiten` 0.57735, 0.57735, -1.15470

    Paper: arXiv:2501.03262 (REINFORCE++), section 3; "group" is its -baseline variant. Differs: the whitening is a
    separate transform.
    """
    if not 0 <= gamma <= 1 or baseline not in ("none", "group"):
        raise InputError(f"kl_return takes a gamma in [0, 1] and the baseline none or group, not {baseline!r}")

    def credit(group: Group, scores: Scores) -> Advantages:
        total_G, tokens = group_rewards(group, scores), []
        counted_G = statistics_mask(group, scores, total_G, stats_over)
        centred_G = returns.standardise(total_G, counted_G, std=None)
        for i, (trajectory, reward_P) in enumerate(zip(group, token_rewards(group, scores))):
            if np.isnan(total_G[i]) or (baseline == "group" and not counted_G[i]):
                tokens.append(scatter(trajectory, 0.0))
                continue
            penalty_P = kl_penalty(trajectory, kl_coefficient) if kl_coefficient else np.zeros(len(reward_P))
            if baseline == "group":
                value_P = centred_G[i] - returns.discounted_returns(penalty_P, gamma)
            else:
                value_P = returns.discounted_returns(reward_P - penalty_P, gamma)
            tokens.append(scatter(trajectory, value_P))
        return Advantages(tuple(tokens))

    return credit
