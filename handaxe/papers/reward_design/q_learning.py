"""Tabular Q-learning on a designed reward, measured by the true return of the greedy policy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.papers.reward_design.navigation import Navigation

__all__ = ["QBudget", "drawn_states", "q_learning", "true_returns"]

TIE_NOISE = 1e-9
"""Size of the noise that orders equal action values at random."""


class QBudget(NamedTuple):
    """Sizes of Q-learning: steps of the environment, rate, share of random actions, longest episode, and steps between
    evaluations.
    """

    steps: int = 10_000
    rate: float = 0.5
    random: float = 0.1
    horizon: int = 500
    every: int = 200


def q_learning(
    navigation: Navigation, reward_RSA: np.ndarray, rng: np.random.Generator, *, runs: int, budget: QBudget
) -> np.ndarray:
    """Learn action values of several rewards, in several independent runs each, all at once.

        Q(s, a) += rate (R(s, a) + discount max_b Q(s', b) - Q(s, a)),   Q = 0 at first, a is epsilon-greedy

    An episode ends in the absorbing state, or at the horizon without effect on the update.

    Args:
        navigation: process, and true rewards of the evaluation; its horizon is not used.
        reward_RSA: rewards of the learners.
        rng: of actions and transitions.
        runs: independent learners of each reward.
        budget: sizes.

    Returns:
        [R, runs, steps / every] true returns of the greedy policies.

    Raises:
        InputError: sizes that are not above 0.

    Example:
        q_learning(rooms(), rooms().reward_SA[None], rng, runs=8, budget=QBudget()).shape  ->  (1, 8, 50)

    Paper: Devidze et al., NeurIPS 2021 (EXPRD), Q-learning of the experiments: rate 0.5, 0.1 random actions, episodes
        of at most 500 steps; in line with the released code.
    Differs: the horizontal axis is the number of steps; the paper counts episodes.
    """
    if min(runs, budget.steps, budget.every) < 1 or not budget.rate > 0:
        raise InputError(f"runs are {runs} and the budget is {budget}; give numbers above 0")
    mdp = navigation.mdp
    reward_NSA = np.repeat(reward_RSA, runs, axis=0)
    learners, states, actions = reward_NSA.shape
    cumulative_SAZ = mdp.transition_SAZ.cumsum(2)
    start_NS = mdp.start_S.cumsum()[None].repeat(learners, 0)
    run_N = np.arange(learners)
    q_NSA = np.zeros((learners, states, actions))
    state_N = drawn_states(rng, start_NS)
    age_N = np.zeros(learners, dtype=int)
    returns = []
    for step in range(1, budget.steps + 1):
        greedy_N = (q_NSA[run_N, state_N] + TIE_NOISE * rng.random((learners, actions))).argmax(1)
        action_N = np.where(rng.random(learners) < budget.random, rng.integers(actions, size=learners), greedy_N)
        next_N = drawn_states(rng, cumulative_SAZ[state_N, action_N])
        goal_N = reward_NSA[run_N, state_N, action_N] + mdp.discount * q_NSA[run_N, next_N].max(1)
        q_NSA[run_N, state_N, action_N] += budget.rate * (goal_N - q_NSA[run_N, state_N, action_N])
        age_N += 1
        ended_N = (next_N == states - 1) | (age_N >= budget.horizon)
        age_N[ended_N] = 0
        state_N = np.where(ended_N, drawn_states(rng, start_NS), next_N)
        if step % budget.every == 0:
            returns.append(true_returns(navigation, np.eye(actions)[q_NSA.argmax(2)]))
    return np.stack(returns, axis=1).reshape(len(reward_RSA), runs, -1)


def drawn_states(rng: np.random.Generator, cumulative_NS: np.ndarray) -> np.ndarray:
    """Draw a state from each row of cumulative probabilities; the last state takes what rounding leaves.

    Returns:
        [N] numbers of states.

    Example:
        cumulative rows (0, 1, 1)  ->  1
    """
    drawn_N = rng.random(len(cumulative_NS))
    return np.minimum((cumulative_NS <= drawn_N[:, None]).sum(1), cumulative_NS.shape[1] - 1)


def true_returns(navigation: Navigation, policy_NSA: np.ndarray) -> np.ndarray:
    """Compute the expected discounted true return of several policies.

        J_n = start (I - discount P_n)^-1 r_n

    Returns:
        [N].

    Example:
        two equal policies  ->  two equal numbers, `ops.finite_mdp.mean_return` of the policy
    """
    mdp = navigation.mdp
    moves_NSZ = np.einsum("nsa,saz->nsz", policy_NSA, mdp.transition_SAZ)
    earned_NS1 = (policy_NSA * navigation.reward_SA).sum(2)[:, :, None]
    value_NS1 = np.linalg.solve(np.eye(len(mdp.start_S)) - mdp.discount * moves_NSZ, earned_NS1)
    return np.asarray(value_NS1[:, :, 0] @ mdp.start_S)
