"""Gaps between the values of optimal and other actions, as linear functions of the reward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, optimal_action_values

__all__ = ["Target", "gap_matrix", "optimal_target"]

TIE = 1e-6
"""Largest difference of two equal action values, as a share of the largest value."""


class Target(NamedTuple):
    """Optimal behaviour under the true reward.

    policy_S      first optimal action of each state
    optimal_SA    all optimal actions
    gap_S         value of a state less that of its best action that isn't optimal, 0 if all actions are optimal
    """

    policy_S: np.ndarray
    optimal_SA: np.ndarray
    gap_S: np.ndarray


def optimal_target(mdp: FiniteMdp, reward_SA: np.ndarray) -> Target:
    """Find the optimal actions of a reward, and the gap of each state to the best other action.

        gap[s] = V*(s) - max over a that isn't optimal of Q*(s, a)

    Args:
        reward_SA: true rewards.

    Returns:
        The target.

    Example:
        one state, rewards 1, 1 and 0.5, discount 0.5: Q = 2, 2, 1.5  ->  actions 0 and 1, gap 0.5

    Paper: Devidze et al., NeurIPS 2021 (EXPRD), delta*(s) of the target policies; in line with the released code.
    Differs: nothing.
    """
    q_SA = optimal_action_values(mdp, reward_SA)
    loss_SA = q_SA.max(1, keepdims=True) - q_SA
    optimal_SA = loss_SA <= TIE * max(1.0, float(np.abs(q_SA).max()))
    gap_S = np.where(optimal_SA.all(1), 0.0, np.where(optimal_SA, np.inf, loss_SA).min(1, initial=np.inf))
    return Target(optimal_SA.argmax(1), optimal_SA, np.where(np.isfinite(gap_S), gap_S, 0.0))


def gap_matrix(mdp: FiniteMdp, policy_S: np.ndarray, *, steps: int | None = None) -> np.ndarray:
    """Make the matrix that maps a reward to gaps between the policy's action and all actions.

        (D R)[s, a] = Q_h(s, policy(s)) - Q_h(s, a)
        Q_h(s, a)   = R(s, a) + E[sum_{0 < t < h} discount^t R(s_t, policy(s_t))]

    A reward with (D R)[s, a] > 0 for every action outside a target and D R >= 0 for all actions has no optimal policy
    that leaves the target (h infinite).

    Args:
        mdp: transitions and discount.
        policy_S: action of each state.
        steps: h, 1 or more; None for infinite.

    Returns:
        [S * A, S * A], on rewards in row-major order.

    Raises:
        InputError: steps below 1.

    Example:
        one state, two arms, policy 0, rewards 1 and 0: every h  ->  gaps 0 and 1

    Paper: Devidze et al., NeurIPS 2021 (EXPRD), delta_h(s, a) and its limit; in line with the released code.
    Differs: h counts rewards; the code of NeurIPS 2021 adds one more, that of arXiv:2402.07019 doesn't.
    """
    if steps is not None and steps < 1:
        raise InputError(f"steps are {steps}; give 1 or more, or None")
    states, actions, _ = mdp.transition_SAZ.shape
    chosen_KK = np.zeros((states * actions, states * actions))
    chosen_KK[np.arange(states * actions), np.repeat(np.arange(states) * actions + policy_S, actions)] = 1.0
    moves_KK = np.zeros((states * actions, states * actions))
    moves_KK[:, np.arange(states) * actions + policy_S] = mdp.transition_SAZ.reshape(states * actions, states)
    identity_KK = np.eye(states * actions)
    if steps is None:
        value_KK = np.linalg.inv(identity_KK - mdp.discount * moves_KK)
    else:
        value_KK = identity_KK
        for _ in range(steps - 1):
            value_KK = identity_KK + mdp.discount * moves_KK @ value_KK
    return np.asarray((chosen_KK - identity_KK) @ value_KK)
