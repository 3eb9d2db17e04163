"""Reward with a chosen number of optimal actions in every state."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp

__all__ = ["tied_reward"]


def tied_reward(rng: np.random.Generator, mdp: FiniteMdp, *, optimal: int, gap: float = 0.5) -> np.ndarray:
    """Draw a reward under which `optimal` actions of each state are optimal, and all others worse by `gap` or more.

        r[s, a] = V[s] - discount sum_z P[s, a, z] V[z] - g[s, a]
        V ~ normal;  g = 0 for the optimal actions, else gap + uniform(0, 1)

    V are the optimal values, and -g the optimal advantages.

    Args:
        rng: of values, optimal actions and gaps.
        optimal: actions that share the optimum, 1 to A.
        gap: least loss of another action, > 0.

    Returns:
        [S, A] expected rewards.

    Raises:
        InputError: `optimal` out of range, or a gap that is not above 0.

    Example:
        one state, discount 0, V = 1, optimal 2 of 2  ->  (1, 1)

    Paper: arXiv:2507.20150 (The Policy Cliff), states with several optimal actions, such as several valid solutions.
    Differs: the paper argues for any process; values and gaps are drawn here.
    """
    states, actions = mdp.transition_SAZ.shape[:2]
    if not 1 <= optimal <= actions or not gap > 0:
        raise InputError(f"optimal is {optimal} and gap {gap}; give 1 to {actions} actions, and above 0")
    value_S: np.ndarray = rng.normal(size=(states,))
    gap_SA = gap + rng.uniform(size=(states, actions))
    best_SA = np.argsort(rng.uniform(size=(states, actions)), axis=1) < optimal
    gap_SA = np.where(best_SA, 0.0, gap_SA)
    return np.asarray(value_S[:, None] - mdp.discount * mdp.transition_SAZ @ value_S - gap_SA)
