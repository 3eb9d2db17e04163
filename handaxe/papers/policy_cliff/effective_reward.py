"""Reward that several rewards with weights by state amount to."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["effective_reward"]


def effective_reward(reward_KSA: np.ndarray, weight_KS: np.ndarray) -> np.ndarray:
    """Aggregate rewards of several domains by weights of each state.

        r_eff(s, a) = sum_k w_k(s) r_k(s, a)

    The optimal policy of multi-reward training depends on r_eff alone: a tie of the first reward is decided by any
    other reward with a weight, however small.

    Args:
        reward_KSA: expected rewards.
        weight_KS: weights, finite.

    Returns:
        [S, A].

    Raises:
        InputError: shapes that do not fit, or a weight that is not finite.

    Example:
        rewards (1, 1) and (0, 1) of one state, weights 1 and -0.001  ->  (1, 0.999)

    Paper: arXiv:2507.20150 (The Policy Cliff), effective reward of multi-reward training.
    Unconfirmed: the form of the aggregation; from the abstract.
    Differs: nothing.
    """
    if reward_KSA.shape[:2] != weight_KS.shape or not np.isfinite(weight_KS).all():
        raise InputError(
            f"rewards have shape {reward_KSA.shape} and weights {weight_KS.shape}; give [K, S, A] and finite [K, S]"
        )
    return np.einsum("ks,ksa->sa", weight_KS, reward_KSA)
