"""Credit of process rewards by their minimum instead of their sum."""

from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.ragged import counted, kl_penalty, rewards_of, scatter, turn_channel, turn_of_token
from handaxe.ops.returns import Lone, discounted

__all__ = ["min_form_return"]


def min_form_return(
    *,
    form: Literal["min", "sum"] = "min",
    temperature: float = 0.1,
    unit: Literal["token", "turn"] = "token",
    kl_coefficient: float = 0.0,
    channel: str | None = None,
    lone: Lone = "zero",
    stats_over: Literal["all", "eligible"] = "all",
) -> Credit:
    """Give the turns up to the worst one its process reward, and those after it about 0, against the other siblings.

        w_ik = softmax_k(-r_ik / T)         r*_ik = w_ik r_ik        (form "sum": r*_ik = r_ik)
        b_i  = mean over the other siblings j of (sum_k r*_jk / m_j)
        A_ik = sum_{l >= k} (r*_il - b_i m_il)
        A_i,t = A_ik - sum_{s >= t} beta (old_logp_s - ref_logp_s)   for sampled tokens t of turn k; 0 for all others

    m_ik is the number of sampled tokens of turn k, m_j that of all turns of j; or 1 and the number of turns. As T goes
    to 0, sum_{l >= k} r*_il becomes min_l r_il up to the worst turn and 0 after it: what was good cannot make up for
    the worst turn, and more good turns add nothing. The outcome does not enter: add it by `credit.total`.

    Args:
        form: "sum" is the usual return-to-go, which the minimum is compared with.
        temperature: T, > 0, in units of reward; 0.1 in the paper.
        unit: what the baseline's average is over. Over tokens, a turn loses b_i for each of its tokens.
        kl_coefficient: beta of the KL to a reference inside the reward, per nat; 0 needs no feature. 1e-3 in the paper.
        channel: take this one of `Scores.turn_channels` for r instead of `turns`.
        lone: what one counted sibling gets: "zero", or its own "reward" (no baseline). The KL is taken from either:
            with a `kl_coefficient` above 0, "zero" is minus what the KL costs.
        stats_over: "all" siblings that were scored, or those that `Scores.eligible` names; the others then get 0.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence. An unscored sibling (outcome NaN) gets 0; it and
        one without a turn count in no baseline.

    Raises:
        InputError: a temperature of 0 or less, another word for form or unit, an unknown channel or `stats_over`, a
            missing feature (old_logp or ref_logp, when kl_coefficient is not 0), and scores that do not fit the group
            or are infinite.

    Example:
        r = 0.8, 0.2, -0.6, without baseline  ->  w = 8e-7, 3.4e-4, 0.99966, r* = 0, 6.7e-5, -0.59980,
        returns -0.5997, -0.5997, -0.5998
        r = 0.8, 0.2, 0.5  ->  r* = 0.0019, 0.1901, 0.0237, which sum to 0.2156 (their minimum is 0.2)

    Paper: arXiv:2504.15275 (PURE).
    Differs: there are no separator tokens here, whose advantage the paper sets to 0. The KL has no baseline.
    """
    if not temperature > 0 or form not in ("min", "sum") or unit not in ("token", "turn"):
        raise InputError(
            f"min_form takes a temperature above 0, the form min or sum and the unit token or turn, not {temperature}, "
            f"{form!r} and {unit!r}"
        )

    def credit(group: Group, scores: Scores) -> Advantages:
        values = turn_channel(group, scores, channel)
        if form == "min":
            values = [_worst(own, temperature) for own in values]
        counted_G = counted(group, scores, rewards_of(group, scores), stats_over)
        sizes = [_sizes(np.bincount(turn_of_token(one), minlength=len(one.turns)), unit) for one in group]
        heard = [i for i, own in enumerate(values) if counted_G[i] and len(own)]
        mean_G = np.zeros(len(group))
        mean_G[heard] = [values[i].sum() / sizes[i].sum() for i in heard]
        tokens = []
        for i, one in enumerate(group):
            adv_N = np.zeros(len(values[i]))
            others = [j for j in heard if j != i]
            if i in heard and (others or lone == "reward"):
                baseline = mean_G[others].mean() if others else 0.0
                adv_N = discounted(values[i] - baseline * sizes[i])
            adv_P = adv_N[turn_of_token(one)]
            if kl_coefficient and counted_G[i]:
                adv_P = adv_P - discounted(kl_penalty(one, kl_coefficient))
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
