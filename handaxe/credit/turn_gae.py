"""Generalized advantage estimation by turn."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops import returns
from handaxe.ops.ragged import scatter, token_feature, token_rewards, token_turn_indices, turn_start_indices

__all__ = ["turn_gae"]


def turn_gae(*, gamma: float = 1.0, lam: float = 0.95, bootstrap: bool = False) -> Credit:
    """Give every token of a turn the turn's advantage over the critic's value before it.

        delta_k = r_k + gamma * V_{k+1} - V_k          A_k = delta_k + gamma * lam * A_{k+1}
        A_t = A_k, returns_t = A_k + V_k                  for sampled tokens t of turn k; 0 for all others

    V_k is the critic's value at the first token of turn k, the state at the start of the turn; values at its other
    tokens are not read. r_k is the reward of turn k; the outcome is added to the last turn, and V after it is 0.

    Args:
        gamma: discount, in [0, 1], per turn.
        lam: lambda, in [0, 1].
        bootstrap: for a truncated trajectory, V after the last turn is V of the last turn instead of 0, since
            truncation is no end of the task.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence, with `returns` of the same shape: each token of
        a turn has the turn's target. Not whitened. An unscored sibling (outcome NaN) gets zeros.

    Raises:
        InputError: a gamma or lam outside [0, 1], a missing feature "value", and scores that do not fit the group or
            are infinite.

    Example:
        three turns with rewards 0, 0, 1 and values 0.5, 0.6, 0.8 at their first tokens:
        gamma 1, lambda 0.95   ->  A 0.4705, 0.39, 0.2      returns 0.9705, 0.99, 1
        gamma 0.9, lambda 0.8  ->  A 0.23008, 0.264, 0.2

    Paper: arXiv:1506.02438, equation 16, with a turn as the step. Differs: the step.
    """
    if not (0 <= gamma <= 1 and 0 <= lam <= 1):
        raise InputError(f"turn_gae takes a gamma and a lam in [0, 1], not {gamma} and {lam}")

    def credit(group: Group, scores: Scores) -> Advantages:
        tokens, targets = [], []
        for trajectory, reward_N, outcome in zip(group, token_rewards(group, scores, turns=True), scores.outcome):
            value_N = token_feature(trajectory, "value")[turn_start_indices(trajectory)]
            last = value_N[-1] if bootstrap and len(value_N) and trajectory.ending.kind == "truncated" else 0.0
            adv_N = returns.gae_advantages(reward_N, value_N, gamma=gamma, lam=lam, last_value=last)
            if np.isnan(outcome):
                adv_N, value_N = np.zeros(len(adv_N)), np.zeros(len(adv_N))
            turn_P = token_turn_indices(trajectory)
            tokens.append(scatter(trajectory, adv_N[turn_P]))
            targets.append(scatter(trajectory, (adv_N + value_N)[turn_P]))
        return Advantages(tuple(tokens), tuple(targets))

    return credit
