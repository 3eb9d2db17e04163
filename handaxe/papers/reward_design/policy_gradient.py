"""Exact policy gradients on a designed reward, fixed or adapted to the policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, mean_return, policy_values, softmax_policy
from handaxe.papers.reward_design.expadard import occupancy
from handaxe.papers.reward_design.navigation import Navigation

__all__ = ["GradientBudget", "gradient_training", "tabular_gradient"]


class GradientBudget(NamedTuple):
    """Sizes: policy updates, rate of an update, and updates between two designs."""

    updates: int = 200
    rate: float = 1.0
    every: int = 5


def gradient_training(
    navigation: Navigation,
    design: Callable[[np.ndarray], np.ndarray],
    logits_SA: np.ndarray,
    budget: GradientBudget,
) -> np.ndarray:
    """Train a tabular softmax policy on the reward that a teacher designs for the present policy.

        every `every` updates:  R = design(softmax(logits))
        logits += rate * d/d logits of the discounted return of R, times (1 - discount)

    Args:
        navigation: process, and true rewards of the evaluation.
        design: policy [S, A] -> reward [S, A].
        logits_SA: first logits; not changed.
        budget: sizes.

    Returns:
        [updates] true returns after each update.

    Raises:
        InputError: sizes that are not above 0.

    Example:
        gradient_training(task, lambda policy_SA: task.reward_SA, np.zeros_like(task.reward_SA), GradientBudget())

    Paper: arXiv:2402.07019 (EXPADARD), the loop of teacher and REINFORCE learner, with a design every 5 updates.
    Differs: expected updates replace sampled episodes; the learner has no horizon.
    """
    if min(budget.updates, budget.every) < 1 or not budget.rate > 0:
        raise InputError(f"the budget is {budget}; give numbers above 0")
    reward_SA = np.zeros_like(logits_SA)
    returns = []
    for number in range(budget.updates):
        policy_SA = softmax_policy(logits_SA, temperature=1.0)
        if number % budget.every == 0:
            reward_SA = design(policy_SA)
        logits_SA = logits_SA + budget.rate * tabular_gradient(navigation.mdp, policy_SA, reward_SA)
        returns.append(mean_return(navigation.mdp, softmax_policy(logits_SA, temperature=1.0), navigation.reward_SA))
    return np.array(returns)


def tabular_gradient(mdp: FiniteMdp, policy_SA: np.ndarray, reward_SA: np.ndarray) -> np.ndarray:
    """Compute the policy gradient of a tabular softmax policy.

        (1 - discount) dJ / d logits[s, a] = mu(s) pi(a|s) (Q(s, a) - V(s))

    Returns:
        [S, A].

    Example:
        one state, two arms with rewards 1 and 0, discount 0, policy 1/2, 1/2  ->  1/4, -1/4
    """
    value_S = policy_values(mdp, policy_SA, reward_SA)
    advantage_SA = reward_SA + mdp.discount * mdp.transition_SAZ @ value_S - value_S[:, None]
    return np.asarray(occupancy(mdp, policy_SA)[:, None] * policy_SA * advantage_SA)
