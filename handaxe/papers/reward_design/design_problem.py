"""Invariance and informativeness of rewards that a teacher designs for one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp
from handaxe.papers.reward_design.invariance import Target, gap_matrix, optimal_target

__all__ = ["DesignProblem", "DesignedReward", "HORIZONS", "far_constraints", "horizon_informativeness"]

HORIZONS = (1, 4, 8, 16, 32)
SLACK = 1e-5
"""Share by which required gaps are below the gaps of the true reward, so that the true reward is inside the bounds."""


class DesignedReward(NamedTuple):
    """Reward [S, A], and its objective value."""

    reward_SA: np.ndarray
    informativeness: float


class DesignProblem(NamedTuple):
    """What all designs for one process share: the constraints of invariance and the gaps at several horizons.

    mdp           process
    reward_SA     true rewards
    limit         R_max, largest absolute reward
    target        optimal actions and gaps
    required_SA   required gaps: the gap of the state for actions outside the target, 0 for others
    far_KK        gap matrix with an infinite horizon
    near          gap matrices of `horizons`
    """

    mdp: FiniteMdp
    reward_SA: np.ndarray
    limit: float
    target: Target
    required_SA: np.ndarray
    far_KK: np.ndarray
    near: Sequence[np.ndarray]

    @classmethod
    def of(
        cls, mdp: FiniteMdp, reward_SA: np.ndarray, *, limit: float, horizons: Sequence[int] = HORIZONS
    ) -> DesignProblem:
        """Make the problem of a process.

        Raises:
            InputError: a limit below the largest true reward, or no horizon.

        Example:
            DesignProblem.of(mdp, reward_SA, limit=10.0)
        """
        if not limit >= np.abs(reward_SA).max() or not horizons:
            raise InputError(
                f"limit is {limit} and horizons are {list(horizons)}; give the largest absolute reward"
                f" {np.abs(reward_SA).max()} or more, and one horizon or more"
            )
        target = optimal_target(mdp, reward_SA)
        required_SA = np.where(target.optimal_SA, 0.0, target.gap_S[:, None] / (1 + SLACK))
        near = [gap_matrix(mdp, target.policy_S, steps=steps) for steps in horizons]
        return cls(mdp, reward_SA, limit, target, required_SA, gap_matrix(mdp, target.policy_S), near)

    def invariant(self, reward_SA: np.ndarray, *, tolerance: float = 1e-6) -> bool:
        """Check the constraints of a reward: bounds, and required gaps at an infinite horizon."""
        gaps_SA = (self.far_KK @ reward_SA.reshape(-1)).reshape(reward_SA.shape)
        bounded = np.abs(reward_SA).max() <= self.limit + tolerance
        return bool(bounded and (gaps_SA >= self.required_SA - tolerance).all())


def horizon_informativeness(problem: DesignProblem, reward_SA: np.ndarray) -> float:
    """Measure how well a reward shows optimal actions within few steps.

        I(R) = - 1 / (|H| |S|) sum_h sum_s max(0, max over a outside the target of gap(s) - gap_h(s, a))

    Args:
        problem: target and horizons.
        reward_SA: the reward.

    Returns:
        0 or less; 0 if at every horizon all gaps are those of the true values.

    Example:
        one state, two arms, true rewards 1 and 0, discount 0: rewards 0.5 and 0  ->  -0.5

    Paper: Devidze et al., NeurIPS 2021 (EXPRD), informativeness with a hinge; in line with the released code.
    Differs: nothing.
    """
    outside_SA = ~problem.target.optimal_SA
    total = 0.0
    for near_KK in problem.near:
        short_SA = problem.required_SA - (near_KK @ reward_SA.reshape(-1)).reshape(reward_SA.shape)
        total += np.maximum(np.where(outside_SA, short_SA, 0.0).max(1), 0.0).sum()
    return float(-total / (len(problem.near) * len(reward_SA)))


def far_constraints(problem: DesignProblem, basis_KW: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write the required gaps at an infinite horizon as rows of matrix @ weights <= limits.

    Returns:
        [S * (A - 1), W] and [S * (A - 1)], a row for each action that isn't the target's.

    Raises:
        InputError: a basis of another process.

    Example:
        one state, two arms, true rewards 1 and 0, discount 0, basis identity  ->  (-1, 1) and -1
    """
    states, actions = problem.reward_SA.shape
    if basis_KW.ndim != 2 or len(basis_KW) != states * actions or not basis_KW.shape[1]:
        raise InputError(f"the basis has shape {basis_KW.shape}; give {states * actions} rows, and a column or more")
    other_K = np.arange(states * actions) % actions != np.repeat(problem.target.policy_S, actions)
    return -problem.far_KK[other_K] @ basis_KW, -problem.required_SA.reshape(-1)[other_K]
