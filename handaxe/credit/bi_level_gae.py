"""Generalised advantage estimation on two levels: over turns, and within each turn over tokens."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops import returns
from handaxe.ops.ragged import feature, last_of_turn, scatter, token_rewards

__all__ = ["bi_level_gae"]


def bi_level_gae(*, turn_gamma: float = 0.95, turn_lam: float = 0.95, gamma: float = 1.0, lam: float = 1.0) -> Credit:
    """Carry advantage between turns by one recurrence and spread it within a turn by another.

        turns   delta_k = r_k + turn_gamma * V_{k+1} - V_k
                A_k = delta_k + turn_gamma * turn_lam * A_{k+1}
        tokens  A_last(k) = A_k
                A_t = gamma * V_{t+1} - V_t + gamma * lam * A_{t+1}        for earlier tokens t of turn k

    V_t is the critic's value at token t, V_k that at the last token of turn k. Only sampled tokens get anything, and
    nothing crosses from one turn to another except through A_k. r_k is the reward of turn k, the outcome added to
    the last turn; V after it is 0. returns_t = A_t + V_t.

    Args:
        turn_gamma, turn_lam: gamma and lambda between turns, in [0, 1].
        gamma, lam: the same between tokens of a turn, in [0, 1]; about 1.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence, with `returns` of the same shape. Not
        whitened. An unscored sibling (outcome NaN) gets zeros.

    Raises:
        InputError: for a gamma or lam outside [0, 1], a missing feature "value", and for scores that do not fit
            the group or are infinite.

    Example:
        turns of 2 and 1 tokens, values (0.2, 0.5) and (0.8), rewards 0 and 1; all discounts and decays 1:
        A_1 = 1 - 0.8 = 0.2, A_0 = 0 + 0.8 - 0.5 + 0.2 = 0.5
        tokens  0.5 - 0.2 + 0.5 = 0.8, 0.5, then 0.2

    Paper: arXiv:2510.16907 (VAGEN), its two-level estimator. Differs: nothing known from the released form, in which
    A_k takes the place of the last token's own error. Unconfirmed: the default values.
    """
    if not all(0 <= number <= 1 for number in (turn_gamma, turn_lam, gamma, lam)):
        raise InputError("bi_level_gae takes discounts and decays in [0, 1]")

    def credit(group: Group, scores: Scores) -> Advantages:
        tokens, targets = [], []
        for trajectory, reward_N, outcome in zip(group, token_rewards(group, scores, turns=True), scores.outcome):
            value_P, last_N = feature(trajectory, "value"), last_of_turn(trajectory)
            turn_N = returns.gae_advantages(reward_N, value_P[last_N], gamma=turn_gamma, lam=turn_lam)
            adv_P, start = np.zeros(len(value_P)), 0
            for turn_adv, last in zip(turn_N, last_N):
                own = value_P[start : last + 1]
                error = np.append(gamma * own[1:] - own[:-1], turn_adv)
                adv_P[start : last + 1] = returns.discounted(error, gamma * lam)
                start = last + 1
            scored = not np.isnan(outcome)
            tokens.append(scatter(trajectory, adv_P if scored else 0.0))
            targets.append(scatter(trajectory, adv_P + value_P if scored else 0.0))
        return Advantages(tuple(tokens), tuple(targets))

    return credit
