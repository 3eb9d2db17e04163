"""Figures of rewards that a teacher adapts to the learner, measured by exact policy gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy  # scipy.stats takes a second: imported on use

from handaxe.ops.finite_mdp import mean_return, optimal_action_values, softmax_policy
from handaxe.ops.seeds import generator
from handaxe.ops.stats import mean_interval
from handaxe.papers.reward_design.compare_designs import gain_figures, outside_share
from handaxe.papers.reward_design.design_problem import DesignProblem
from handaxe.papers.reward_design.expadard import adaptive_reward, informativeness_slope
from handaxe.papers.reward_design.exprd import explicable_reward
from handaxe.papers.reward_design.navigation import Navigation
from handaxe.papers.reward_design.policy_gradient import GradientBudget, gradient_training, tabular_gradient
from handaxe.papers.reward_design.structures import leaf_basis

__all__ = ["compare_teachers", "rank_agreement"]

FAR_STEPS = 4
"""Look-ahead of the second adaptive reward."""


def compare_teachers(
    navigation: Navigation, seed: int, *, learners: int, budget: GradientBudget, limit: float = 10.0
) -> dict[str, float]:
    """Compare rewards of equal structure, tied over leaves: invariant alone, EXPRD, and adapted every few updates.

    Figures:
        REWARD, REWARD/end      true return as a share of the optimum, mean over the updates and after the last
        gain/REWARD             adaptive reward less REWARD; /low: lower end of the 95 % interval over learners
        unconstrained/outside   as in `compare_designs`, of the first unconstrained reward, mean over learners
        rank, rank/low          Spearman's correlation of informativeness and of the true gain of one update

    Rewards: true, invariant (constraints alone), fixed (EXPRD), adaptive (h = 1), adaptive_4 (h = 4), unconstrained
    (h = 1, without invariance).

    Args:
        navigation: process, and leaves.
        seed: of the learners' first policies, normal logits.
        learners: number of first policies.
        budget: of the policy gradient.
        limit: R_max.

    Example:
        compare_teachers(line_key(), 0, learners=2, budget=GradientBudget(updates=100))["adaptive"]

    Idea: exact updates and one structure leave the adaptation as the only difference.
    """
    problem = DesignProblem.of(navigation.mdp, navigation.reward_SA, limit=limit)
    basis_KW = leaf_basis(navigation.leaf_S, navigation.reward_SA.shape[1])
    fixed = {
        "true": navigation.reward_SA,
        "invariant": adaptive_reward(problem, basis_KW, np.zeros_like(navigation.reward_SA)).reward_SA,
        "fixed": explicable_reward(problem, basis_KW).reward_SA,
    }
    designs: dict[str, Callable[[np.ndarray], np.ndarray]] = {name: _constant(one) for name, one in fixed.items()}
    designs["adaptive"] = _adaptive(problem, basis_KW, 1)
    designs[f"adaptive_{FAR_STEPS}"] = _adaptive(problem, basis_KW, FAR_STEPS)
    designs["unconstrained"] = _adaptive(problem, basis_KW, 1, invariant=False)
    shape = (learners, *navigation.reward_SA.shape)
    logits_NSA = generator("first policies", seed).normal(size=shape)
    best = float(navigation.mdp.start_S @ optimal_action_values(navigation.mdp, navigation.reward_SA).max(1))
    curves = {
        name: np.stack([gradient_training(navigation, design, one, budget) for one in logits_NSA]) / best
        for name, design in designs.items()
    }
    ranks_N = np.array([rank_agreement(problem, basis_KW, one, seed=seed) for one in logits_NSA])
    outside = [
        outside_share(problem, designs["unconstrained"](softmax_policy(one, temperature=1.0))) for one in logits_NSA
    ]
    ranks = {
        "unconstrained/outside": float(np.mean(outside)),
        "rank": float(ranks_N.mean()),
        "rank/low": mean_interval(ranks_N).low,
    }
    return dict(sorted((gain_figures(curves, "adaptive") | ranks).items()))


def rank_agreement(
    problem: DesignProblem,
    basis_KW: np.ndarray,
    logits_SA: np.ndarray,
    *,
    seed: int,
    rewards: int = 40,
    rate: float = 0.1,
) -> float:
    """Correlate informativeness of random rewards with the true gain of one policy update on these rewards.

    Args:
        problem: process.
        basis_KW: structure; weights are uniform within the limit, without invariance.
        logits_SA: the learner.
        seed: of the weights.
        rewards: random rewards.
        rate: of the update.

    Returns:
        Spearman's correlation.

    Example:
        rank_agreement(problem, basis_KW, np.zeros((21, 3)), seed=0)
    """
    policy_SA = softmax_policy(logits_SA, temperature=1.0)
    slope_SA = informativeness_slope(problem, policy_SA)
    before = mean_return(problem.mdp, policy_SA, problem.reward_SA)
    rng = generator("drawn rewards", seed)
    expected, gains = list[float](), list[float]()
    for _ in range(rewards):
        weight_W = rng.uniform(-problem.limit, problem.limit, size=basis_KW.shape[1])
        reward_SA = (basis_KW @ weight_W).reshape(slope_SA.shape)
        moved_SA = logits_SA + rate * tabular_gradient(problem.mdp, policy_SA, reward_SA)
        after = mean_return(problem.mdp, softmax_policy(moved_SA, temperature=1.0), problem.reward_SA)
        expected.append(float((slope_SA * reward_SA).sum()))
        gains.append(after - before)
    return float(scipy.stats.spearmanr(expected, gains).statistic)


def _constant(reward_SA: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda policy_SA: reward_SA


def _adaptive(
    problem: DesignProblem, basis_KW: np.ndarray, steps: int, *, invariant: bool = True
) -> Callable[[np.ndarray], np.ndarray]:
    def design(policy_SA: np.ndarray) -> np.ndarray:
        slope_SA = informativeness_slope(problem, policy_SA, steps=steps)
        return adaptive_reward(problem, basis_KW, slope_SA, invariant=invariant).reward_SA

    return design
