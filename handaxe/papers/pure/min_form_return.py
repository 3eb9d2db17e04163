"""Returns of process rewards by their minimum."""

from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import group_rewards, kl_penalty, scatter, statistics_mask, token_turn_indices, turn_channel
from handaxe.ops.returns import LoneReward, discounted_returns

__all__ = ["min_form_return"]


def min_form_return(
    *,
    form: Literal["min", "sum"] = "min",
    temperature: float = 0.1,
    unit: Literal["token", "turn"] = "token",
    kl_coefficient: float = 0.0,
    channel: str | None = None,
    lone: LoneReward = "zero",
    stats_over: Literal["all", "eligible"] = "all",
) -> Credit:
    """Credit turns up to the worst one with its process reward and later turns with about 0, against the siblings.

        w_ik = softmax_k(-r_ik / T)         r*_ik = w_ik r_ik        (form "sum": r*_ik = r_ik)
        b_i  = mean over the other siblings j of (sum_k r*_jk / m_j)
        A_ik = sum_{l >= k} (r*_il - b_i m_il)
        A_i,t = A_ik - sum_{s >= t} beta (old_logp_s - ref_logp_s)   for sampled tokens t of turn k; 0 for all others

    m_ik is the number of sampled tokens of turn k, m_j that of all turns of j; with unit "turn", 1 and the number of
    turns. As T goes to 0, sum_{l >= k} r*_il becomes min_l r_il up to the worst turn and 0 after it: good turns cannot
    compensate the worst one, and further good turns add nothing. The outcome does not enter: add it with
    `credit.total`.

    Args:
        form: "min", or "sum", the usual return-to-go.
        temperature: T, > 0, in units of reward; 0.1 in the paper.
        unit: unit of the baseline's average. With "token" a turn loses b_i for each of its tokens.
        kl_coefficient: beta of the KL to a reference inside the reward, per nat; 1e-3 in the paper. 0 needs no feature.
        channel: read r from this one of `Scores.turn_channels` instead of `turns`.
        lone: advantage of a single counted sibling: "zero", or its own "reward" (no baseline). The KL is subtracted
            from either.
        stats_over: "all" scored siblings, or those in `Scores.eligible`; the others get 0.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. An unscored sibling (outcome NaN) gets 0; it and
        a sibling without a turn count in no baseline.

    Raises:
        InputError: a temperature of 0 or less, an unknown form or unit, channel or `stats_over`, a missing feature
            (old_logp or ref_logp, if kl_coefficient is not 0), and scores that do not fit the group or are infinite.

    Example:
        r = 0.8, 0.2, -0.6, without baseline  ->  w = 8e-7, 3.4e-4, 0.99966, r* = 0, 6.7e-5, -0.59980,
        returns -0.5997, -0.5997, -0.5998
        r = 0.8, 0.2, 0.5  ->  r* = 0.0019, 0.1901, 0.0237, which sum to 0.2156 (their minimum is 0.2)

    Paper: arXiv:2504.15275 (PURE).
    Differs: there are no separator tokens, whose advantage the paper sets to 0. The KL has no baseline.
    """
    if not temperature > 0 or form not in ("min", "sum") or unit not in ("token", "turn"):
        raise InputError(
            f"min_form_return takes a temperature above 0, the form min or sum and the unit token or turn, not "
            f"{temperature}, {form!r} and {unit!r}"
        )

    def credit(group: Group, scores: Scores) -> Advantages:
        values = turn_channel(group, scores, channel)
        if form == "min":
            values = [_worst(own, temperature) for own in values]
        counted_G = statistics_mask(group, scores, group_rewards(group, scores), stats_over)
        sizes = [_sizes(np.bincount(token_turn_indices(one), minlength=len(one.turns)), unit) for one in group]
        active = [i for i, own in enumerate(values) if counted_G[i] and len(own)]
        mean_G = np.zeros(len(group))
        mean_G[active] = [values[i].sum() / sizes[i].sum() for i in active]
        tokens = []
        for i, one in enumerate(group):
            adv_N = np.zeros(len(values[i]))
            others = [j for j in active if j != i]
            if i in active and (others or lone == "reward"):
                baseline = mean_G[others].mean() if others else 0.0
                adv_N = discounted_returns(values[i] - baseline * sizes[i])
            adv_P = adv_N[token_turn_indices(one)]
            if kl_coefficient and counted_G[i]:
                adv_P = adv_P - discounted_returns(kl_penalty(one, kl_coefficient))
            tokens.append(scatter(one, adv_P))
        return Advantages(tuple(tokens))

    return credit


def _worst(values: np.ndarray, temperature: float) -> np.ndarray:
    """softmax(-values / T) * values, stable for any T."""
    if not len(values):
        return values
    weight = np.exp((values.min() - values) / temperature)
    return weight / weight.sum() * values


def _sizes(tokens: np.ndarray, unit: str) -> np.ndarray:
    return tokens.astype(np.float64) if unit == "token" else np.ones(len(tokens))
