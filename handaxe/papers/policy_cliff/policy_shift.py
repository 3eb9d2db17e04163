"""Change of the optimal policy under a change of the reward."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, optimal_action_values, softmax_policy

__all__ = ["policy_shift", "shift_bound", "total_variation"]


def policy_shift(
    mdp: FiniteMdp, first_SA: np.ndarray, second_SA: np.ndarray, *, temperature: float = 0.0
) -> np.ndarray:
    """Compute the total variation between the optimal policies of two rewards, by state.

        shift[s] = 1/2 sum_a |pi_1(a|s) - pi_2(a|s)|
        pi       = argmax Q, the first of equal actions                   temperature 0
        pi       = softmax(Q / t), Q with entropy bonus of weight t       temperature t

    Args:
        first_SA, second_SA: expected rewards.
        temperature: of the entropy bonus, >= 0.

    Returns:
        [S], each in [0, 1].

    Raises:
        InputError: rewards of another shape than states and actions, a negative temperature.

    Example:
        one state, discount 0, rewards (1, 1.001) and (1.001, 1): 1 with temperature 0, 0.0050 with temperature 0.1

    Paper: arXiv:2507.20150 (The Policy Cliff), map from reward to optimal policy, with and without entropy.
    Differs: nothing.
    """
    shape = mdp.transition_SAZ.shape[:2]
    if first_SA.shape != shape or second_SA.shape != shape:
        raise InputError(f"rewards have shapes {first_SA.shape} and {second_SA.shape}; give [S, A] = {shape}")
    first, second = (
        softmax_policy(optimal_action_values(mdp, one, temperature=temperature), temperature=temperature)
        for one in (first_SA, second_SA)
    )
    return total_variation(first, second)


def total_variation(first_SA: np.ndarray, second_SA: np.ndarray) -> np.ndarray:
    """Return half of the sum of absolute differences, over the last axis.

    Example:
        (1, 0) and (0.25, 0.75)  ->  0.75
    """
    return np.asarray(np.abs(first_SA - second_SA).sum(-1) / 2)


def shift_bound(size: float, *, temperature: float, discount: float) -> float:
    """Bound the shift of a policy with entropy bonus if no reward changes by more than `size`.

        shift <= size / (2 t (1 - discount))

    Action values change by at most size / (1 - discount), and the total variation of a softmax grows by at most half
    of the largest change of a logit.

    Raises:
        InputError: a temperature that is not above 0, or a discount outside [0, 1).

    Example:
        size 0.001, temperature 0.1, discount 0  ->  0.005

    Paper: arXiv:2507.20150 (The Policy Cliff), Lipschitz continuity under entropy regularization.
    Unconfirmed: the constant; derived here.
    Differs: nothing.
    """
    if not temperature > 0 or not 0 <= discount < 1:
        raise InputError(f"temperature is {temperature} and discount {discount}; give above 0, and 0 to below 1")
    return size / (2 * temperature * (1 - discount))
