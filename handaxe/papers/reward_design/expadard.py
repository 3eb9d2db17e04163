"""Rewards that a teacher adapts to the learner's policy: informativeness of a reward for one update of that policy."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, policy_values
from handaxe.papers.reward_design.design_problem import DesignedReward, DesignProblem, far_constraints
from handaxe.papers.reward_design.solve_weights import solve_weights

__all__ = ["adaptive_reward", "informativeness_slope", "occupancy"]

TEACHER_EPSILON = 0.3
"""Share of random actions in the teacher's occupancy."""


def occupancy(mdp: FiniteMdp, policy_SA: np.ndarray) -> np.ndarray:
    """Compute the discounted share of time in each state.

        mu = (1 - discount) (I - discount P_pi^T)^-1 start

    Returns:
        [S], with sum 1.

    Example:
        two states, start in the first, which always moves to the second, discount 0.5  ->  0.5, 0.5
    """
    moves_SZ = np.einsum("sa,saz->sz", policy_SA, mdp.transition_SAZ)
    return np.asarray(
        (1 - mdp.discount) * np.linalg.solve(np.eye(len(moves_SZ)) - mdp.discount * moves_SZ.T, mdp.start_S)
    )


def informativeness_slope(problem: DesignProblem, policy_SA: np.ndarray, *, steps: int = 1) -> np.ndarray:
    """Compute the informativeness of a reward for a learner, a linear function of the reward, as its slope.

        I(R)     = sum_{s, a} mu_L(s, a) mu_T(s) pi(a|s) (A_T(s, a) - A_T(s, pi)) (A_h(s, a) - A_h(s, pi))
        A_T      advantages of the teacher's optimal policy under the true reward
        A_h      h-step advantages of the learner's policy pi under R, where R is 0 after h steps
        f(s, pi) = sum_b pi(b|s) f(s, b)

    mu_L is the learner's occupancy with its actions. mu_T is the occupancy of a teacher with 0.3 random actions.
    I(R) is the derivative of sum_s mu_T(s) A_T(s, pi) along one policy gradient step of a tabular softmax policy on R:
    the gain that an update on R brings, from the view of the teacher.

    Args:
        problem: process and target.
        policy_SA: the learner's policy.
        steps: h, 1 or more.

    Returns:
        [S, A], with I(R) = sum of slope * R.

    Raises:
        InputError: a policy of another shape, or steps below 1.

    Example:
        one state, two arms, true rewards 1 and 0, discount 0, policy 1/2, 1/2: A_T = 0 and -1, A_T(pi) = -1/2
        sum of 1/2 * 1 * 1/2 * (1/2, -1/2) * (R - mean of R)  ->  slope 1/8, -1/8

    Paper: arXiv:2402.07019 (EXPADARD), I_h with h = 1 in the experiments; in line with the released code.
    Unconfirmed: h above 1, which the code doesn't have.
    Differs: nothing.
    """
    mdp = problem.mdp
    states, actions, _ = mdp.transition_SAZ.shape
    if policy_SA.shape != (states, actions) or steps < 1:
        raise InputError(f"the policy has shape {policy_SA.shape} and steps are {steps}; give {states, actions} and 1")
    teacher_SA = np.eye(actions)[problem.target.policy_S]
    value_S = policy_values(mdp, teacher_SA, problem.reward_SA)
    advantage_SA = problem.reward_SA + mdp.discount * mdp.transition_SAZ @ value_S - value_S[:, None]
    centred_SA = advantage_SA - (policy_SA * advantage_SA).sum(1, keepdims=True)
    mixed_SA = (1 - TEACHER_EPSILON) * teacher_SA + TEACHER_EPSILON / actions
    weight_S = occupancy(mdp, mixed_SA) * occupancy(mdp, policy_SA)
    weight_SA = weight_S[:, None] * policy_SA**2 * centred_SA
    slope_SA = weight_SA - policy_SA * weight_SA.sum(1, keepdims=True)
    moves_ZSA = mdp.discount * mdp.transition_SAZ.transpose(2, 0, 1)
    total_SA = slope_SA
    for _ in range(steps - 1):
        arrived_S = (moves_ZSA * slope_SA).sum((1, 2))
        slope_SA = arrived_S[:, None] * policy_SA
        total_SA = total_SA + slope_SA
    return np.asarray(total_SA)


def adaptive_reward(
    problem: DesignProblem, basis_KW: np.ndarray, slope_SA: np.ndarray, *, invariant: bool = True
) -> DesignedReward:
    """Find the reward with the highest informativeness for a learner, by a linear program.

        max sum of slope * R - penalty sum |w|   subject to the constraints of `explicable_reward`

    A slope of 0 gives the smallest reward with these constraints.

    Args:
        problem: process and constraints.
        basis_KW: structure of the reward, of `sparse_basis` or `leaf_basis`.
        slope_SA: of `informativeness_slope`.
        invariant: False leaves out the gaps at an infinite horizon, for comparison.

    Returns:
        The reward, and its informativeness less the penalty.

    Raises:
        InputError: no reward of this structure has the required gaps.

    Example:
        adaptive_reward(problem, basis_KW, informativeness_slope(problem, policy_SA))

    Paper: arXiv:2402.07019 (EXPADARD), inner problem of the adaptive design; in line with the released code.
    Differs: a set of states is the structure of the reward; the experiments of the paper have one reward for each leaf
        of a tree over states. The slope is divided by its largest entry before the solver sees it.
    """
    far_RW, limit_R = far_constraints(problem, basis_KW)
    slope_W = slope_SA.reshape(-1) @ basis_KW
    scale = float(np.abs(slope_W).max()) or 1.0
    kept = slice(None) if invariant else slice(0)
    weight_W, value = solve_weights(slope_W / scale, far_RW[kept], limit_R[kept], problem.limit)
    return DesignedReward((basis_KW @ weight_W).reshape(slope_SA.shape), value * scale)
