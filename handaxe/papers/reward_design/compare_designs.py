"""Figures of rewards that a teacher designs once, measured by Q-learning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from handaxe.ops.finite_mdp import optimal_action_values
from handaxe.ops.seeds import generator
from handaxe.ops.stats import mean_interval
from handaxe.papers.reward_design.design_problem import DesignProblem, horizon_informativeness
from handaxe.papers.reward_design.exprd import choose_states, explicable_reward
from handaxe.papers.reward_design.invariance import optimal_target
from handaxe.papers.reward_design.navigation import Navigation
from handaxe.papers.reward_design.q_learning import QBudget, q_learning
from handaxe.papers.reward_design.structures import sparse_basis

__all__ = ["compare_designs", "gain_figures", "outside_share"]


def compare_designs(
    navigation: Navigation, seed: int, *, states: int, runs: int, budget: QBudget, limit: float = 10.0
) -> dict[str, float]:
    """Compare the true reward, potential-based shaping, and sparse and dense rewards of EXPRD.

    Figures:
        REWARD, REWARD/end, REWARD/informativeness   true return as a share of the optimum, mean over the steps and at
                                                     the end; informativeness at several horizons
        REWARD/outside                               share of states with an action that is optimal for the reward and
                                                     not for the true reward
        gain/REWARD                                  sparse less REWARD; /low: lower end of the 95 % interval over runs

    Rewards: true, potential (true reward + discount V*(s') - V*(s)), sparse (on chosen states), random (on as many
    random states), dense (on all states), and unconstrained (sparse without invariance; not used for learning).

    Args:
        navigation: process.
        seed: of random states and learners.
        states: added to the states with a true reward.
        runs: learners of a reward.
        budget: of Q-learning.
        limit: R_max.

    Example:
        compare_designs(line_key(), 0, states=5, runs=16, budget=QBudget())["sparse/outside"]  ->  0

    Idea: equal learners and random numbers leave the reward as the only difference.
    """
    problem = DesignProblem.of(navigation.mdp, navigation.reward_SA, limit=limit)
    shape = navigation.reward_SA.shape
    cells = range(shape[0] - 1)
    basis_KW = sparse_basis(shape, choose_states(problem, states, candidates=cells))
    q_SA = optimal_action_values(navigation.mdp, navigation.reward_SA)
    rewarded = np.flatnonzero(navigation.reward_SA.any(1)).tolist()
    others = generator("drawn states", seed).permutation(sorted(set(cells) - set(rewarded)))[:states].tolist()
    rewards = {
        "true": navigation.reward_SA,
        "potential": q_SA - q_SA.max(1, keepdims=True),
        "sparse": explicable_reward(problem, basis_KW).reward_SA,
        "random": explicable_reward(problem, sparse_basis(shape, [*rewarded, *others])).reward_SA,
        "dense": explicable_reward(problem, sparse_basis(shape, cells)).reward_SA,
    }
    rng = generator("designed rewards", seed)
    curves_RNE = q_learning(navigation, np.stack(list(rewards.values())), rng, runs=runs, budget=budget)
    best = float(navigation.mdp.start_S @ q_SA.max(1))
    curves = dict(zip(rewards, curves_RNE / best, strict=True))
    figures = gain_figures(curves, "sparse")
    rewards["unconstrained"] = explicable_reward(problem, basis_KW, invariant=False).reward_SA
    for name, reward_SA in rewards.items():
        figures[f"{name}/informativeness"] = horizon_informativeness(problem, reward_SA)
        figures[f"{name}/outside"] = outside_share(problem, reward_SA)
    return dict(sorted(figures.items()))


def outside_share(problem: DesignProblem, reward_SA: np.ndarray) -> float:
    """Return the share of states with an action that is optimal for a reward and not for the true one.

    Example:
        the true reward  ->  0
    """
    optimal_SA = optimal_target(problem.mdp, reward_SA).optimal_SA
    return float((optimal_SA & ~problem.target.optimal_SA).any(1).mean())


def gain_figures(curves: Mapping[str, np.ndarray], name: str) -> dict[str, float]:
    """Make figures of curves [runs, evaluations]: means, ends, and gains of one reward with the lower ends.

    Example:
        runs with means 0.5 and 0.7 against 0.2 and 0.2  ->  gain 0.4
    """
    figures = dict[str, float]()
    for other, curve_NE in curves.items():
        figures |= {other: float(curve_NE.mean()), f"{other}/end": float(curve_NE[:, -1].mean())}
        if other != name:
            gain_N = curves[name].mean(1) - curve_NE.mean(1)
            figures |= {f"gain/{other}": float(gain_N.mean()), f"gain/{other}/low": mean_interval(gain_N).low}
    return figures
