"""Credit with the baseline that makes the gradient's variance least, token by token."""

from typing import Literal

import numpy as np

from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import counted, feature, rewards_of, scatter, token_rewards
from handaxe.ops.returns import EQUAL, Lone, discounted

__all__ = ["optimal_baseline"]


def optimal_baseline(
    *, tail: Literal["zero", "last"] = "zero", lone: Lone = "zero", stats_over: Literal["all", "eligible"] = "all"
) -> Credit:
    """Give every sampled token its return minus the siblings' mean return at that token, weighted by gradient energy.

        W_i,t = sum_{s <= t} (1 - 2 p_i,s + c_i,s)          cumulated over the sampled tokens of all turns
        b_t   = sum_i G_i,t W_i,t / sum_i W_i,t             over siblings with at least t sampled tokens
        A_i,t = G_i,t - b_t                                 for sampled tokens; 0 for all others

    p_i,s = exp(logp) is the probability of the token that was sampled, c_i,s = sum_v p_v^2 the feature "collision":
    their sum is the squared norm of the gradient of log p with respect to the logits. G_i,t is the undiscounted return
    from token t on. Siblings meet at equal index t among sampled tokens, so prompt, template and tool tokens do not
    count. Where only one sibling is long enough to have a token t, it would be its own baseline and learn nothing:
    there b_t = 0. Where no weight is left (every token certain) b_t = 0 too. Advantages within 1e-8 of 0 are made 0.

    Args:
        tail: b_t beyond the second longest sibling: "zero" (released form), or the "last" b_t that two siblings share.
        lone: what a sibling counted alone gets: "zero", or its own "reward", that is G.
        stats_over: "all" siblings that were scored, or those that `Scores.eligible` names; the others then get 0.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. Equal outcomes without per-turn rewards give
        0 up to the second longest sibling's length, and with tail "last" everywhere. An unscored sibling gets 0.

    Raises:
        InputError: for a missing feature "collision", an unknown `stats_over`, and for scores that do not fit the
            group or are infinite.

    Example:
        siblings of 2 and 1 tokens, outcomes 1 and 0; p (0.5, 0.8), c (0.5, 0.68) and p 0.25, c 0.625:
        W = (0.5, 0.58) and 1.125; b = 0.5 / 1.625 = 0.30769, then 0 (tail)
        A = 0.69231, 1 and -0.30769

    Paper: Unconfirmed: known from verl's released multi-turn optimal token baseline, not from a paper.
    Differs: a lone sibling gets 0 unless asked otherwise.
    """

    def credit(group: Group, scores: Scores) -> Advantages:
        counted_G = counted(group, scores, rewards_of(group, scores), stats_over)
        rewards = token_rewards(group, scores)
        longest = max((len(own) for own in rewards), default=0)
        return_GT, weight_GT = np.zeros((len(group), longest)), np.zeros((len(group), longest))
        present_GT = np.zeros((len(group), longest), bool)
        for i, trajectory in enumerate(group):
            here = slice(0, len(rewards[i]) if counted_G[i] else 0)
            energy_P = 1 - 2 * np.exp(feature(trajectory, "logp")) + feature(trajectory, "collision")
            return_GT[i, here] = discounted(rewards[i][here])
            weight_GT[i, here] = np.cumsum(energy_P[here])
            present_GT[i, here] = True
        baseline_T = _baseline(return_GT, weight_GT, present_GT, tail)
        adv_GT = np.where(present_GT, return_GT - baseline_T, 0.0)
        adv_GT[np.abs(adv_GT) <= EQUAL * np.maximum(1.0, np.abs(return_GT))] = 0.0
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
