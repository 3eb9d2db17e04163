"""Credit with a variance-optimal baseline by token.

Kept: users of verl expect its optimal token baseline; it is a reference row of docs/bias.md.
"""

from typing import Literal

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import group_rewards, scatter, statistics_mask, token_feature, token_rewards
from handaxe.ops.returns import EQUALITY_TOLERANCE, LoneReward, discounted_returns

__all__ = ["optimal_baseline"]


def optimal_baseline(
    *, tail: Literal["zero", "last"] = "zero", lone: LoneReward = "zero", stats_over: Literal["all", "eligible"] = "all"
) -> Credit:
    """Give every sampled token the return minus the siblings' mean return at that token, weighted by gradient energy.

        W_i,t = sum_{s <= t} (1 - 2 p_i,s + c_i,s)          cumulated over the sampled tokens of all turns
        b_t   = sum_i G_i,t W_i,t / sum_i W_i,t             over siblings with at least t sampled tokens
        A_i,t = G_i,t - b_t                                 for sampled tokens; 0 for all others

    p_i,s = exp(logp) is the probability of the sampled token, c_i,s = sum_v p_v^2 the feature "collision"; 1 - 2 p + c
    is the squared norm of the gradient of log p with respect to the logits. G_i,t is the undiscounted return from token
    t on. Siblings are aligned by the index t among sampled tokens, without prompt, template and tool tokens. At an
    index with a single sibling, b_t = 0, since the sibling would be its own baseline. Without weight (all tokens
    certain), b_t = 0. Advantages within 1e-8 of 0 become 0.

    Args:
        tail: b_t beyond the second longest sibling: "zero" (released form), or the "last" b_t shared by two siblings.
        lone: advantage of a single counted sibling: "zero", or its own "reward", that is G.
        stats_over: "all" scored siblings, or the siblings of `Scores.eligible`; the others then get 0.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Equal outcomes without per-turn rewards give 0
        up to the second longest sibling's length, and with tail "last" everywhere. An unscored sibling gets 0.

    Raises:
        InputError: a missing feature "collision", an unknown `stats_over`, and scores that do not fit the group or are
            infinite.

    Example:
        siblings of 2 and 1 tokens, outcomes 1 and 0; p (0.5, 0.8), c (0.5, 0.68) and p 0.25, c 0.625:
        W = (0.5, 0.58) and 1.125; b = 0.5 / 1.625 = 0.30769, then 0 (tail)
        A = 0.69231, 1 and -0.30769

    Paper: Unconfirmed: known from verl's released multi-turn optimal token baseline, not from a paper.
    Differs: a lone sibling gets 0 by default.
    """

    def credit(group: Group, scores: Scores) -> Advantages:
        counted_G = statistics_mask(group, scores, group_rewards(group, scores), stats_over)
        rewards = token_rewards(group, scores)
        longest = max((len(own) for own in rewards), default=0)
        return_GT, weight_GT = np.zeros((len(group), longest)), np.zeros((len(group), longest))
        present_GT = np.zeros((len(group), longest), bool)
        for i, trajectory in enumerate(group):
            here = slice(0, len(rewards[i]) if counted_G[i] else 0)
            energy_P = 1 - 2 * np.exp(token_feature(trajectory, "logp")) + token_feature(trajectory, "collision")
            return_GT[i, here] = discounted_returns(rewards[i][here])
            weight_GT[i, here] = np.cumsum(energy_P[here])
            present_GT[i, here] = True
        baseline_T = _baseline(return_GT, weight_GT, present_GT, tail)
        adv_GT = np.where(present_GT, return_GT - baseline_T, 0.0)
        adv_GT[np.abs(adv_GT) <= EQUALITY_TOLERANCE * np.maximum(1.0, np.abs(return_GT))] = 0.0
        if counted_G.sum() == 1:
            adv_GT = return_GT if lone == "reward" else np.zeros_like(adv_GT)
        return Advantages(tuple(scatter(one, adv_GT[i, : len(rewards[i])]) for i, one in enumerate(group)))

    return credit


def _baseline(return_GT: np.ndarray, weight_GT: np.ndarray, present_GT: np.ndarray, tail: str) -> np.ndarray:
    """[T]: b_t of the docstring."""
    weight_GT = np.where(present_GT, weight_GT, 0.0)
    out = np.zeros(return_GT.shape[1])
    for t in range(len(out)):
        total = weight_GT[:, t].sum()
        if present_GT[:, t].sum() < 2:
            out[t] = out[t - 1] if tail == "last" and t else 0.0
        elif total > 1e-12:
            out[t] = return_GT[:, t] @ weight_GT[:, t] / total
    return out
