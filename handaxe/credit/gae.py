"""Generalized advantage estimation by token."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops import returns
from handaxe.ops.ragged import kl_penalty, scatter, token_feature, token_rewards

__all__ = ["gae"]


def gae(*, gamma: float = 1.0, lam: float = 0.95, kl_coefficient: float = 0.0, bootstrap: bool = False) -> Credit:
    """Give every sampled token the advantage over the critic's value, and give the critic the targets.

        delta_t = r_t + gamma * V_{t+1} - V_t        A_t = delta_t + gamma * lam * A_{t+1}
        returns_t = A_t + V_t

    Steps t are the policy's tokens, through all turns and sequences, without prompt, template and tool tokens. So the
    last token of a turn is followed by the first of the next turn, whose value includes the tool's reply. The reward of
    a turn is at its last token, the outcome at the very last one; V after it is 0.

    Args:
        gamma: discount, in [0, 1], per token.
        lam: lambda, in [0, 1].
        kl_coefficient: beta; subtracts beta * (old_logp - ref_logp) from each token's reward. 0 needs neither feature.
        bootstrap: for a truncated trajectory, V after the last token is V of the last token instead of 0, since
            truncation is no end of the task.

    Returns:
        A credit: (Group, Scores) -> Advantages, [T] for each sequence, with `returns` of the same shape. Advantages are
            not
        whitened: `batch_whiten` usually follows, and does not change the returns. An unscored sibling (outcome NaN)
        gets zeros.

    Raises:
        InputError: a gamma or lam outside [0, 1], a missing feature (value; old_logp and ref_logp too, if
            kl_coefficient is not 0), and scores that do not fit the group or are infinite.

    Example:
        rewards 0, 0, 1, values 0.5, 0.6, 0.8:
        gamma 1, lambda 0.95   ->  A 0.4705, 0.39, 0.2      returns 0.9705, 0.99, 1
        gamma 0.9, lambda 0.8  ->  A 0.23008, 0.264, 0.2

    Paper: arXiv:1506.02438, equation 16; arXiv:1707.06347 (PPO). Differs: truncation bootstraps from the value before
    the last token, the nearest existing value.
    """
    if not (0 <= gamma <= 1 and 0 <= lam <= 1):
        raise InputError(f"gae takes a gamma and a lam in [0, 1], not {gamma} and {lam}")

    def credit(group: Group, scores: Scores) -> Advantages:
        tokens, targets = [], []
        for trajectory, reward_P, outcome in zip(group, token_rewards(group, scores), scores.outcome):
            value_P = token_feature(trajectory, "value")
            if kl_coefficient:
                reward_P = reward_P - kl_penalty(trajectory, kl_coefficient)
            last = value_P[-1] if bootstrap and len(value_P) and trajectory.ending.kind == "truncated" else 0.0
            adv_P = returns.gae_advantages(reward_P, value_P, gamma=gamma, lam=lam, last_value=last)
            scored = not np.isnan(outcome)
            tokens.append(scatter(trajectory, adv_P if scored else 0.0))
            targets.append(scatter(trajectory, adv_P + value_P if scored else 0.0))
        return Advantages(tuple(tokens), tuple(targets))

    return credit
