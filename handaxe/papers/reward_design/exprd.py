"""Sparse bounded rewards with the highest informativeness whose optimal policies are optimal for the true reward."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from handaxe.core.errors import InputError
from handaxe.papers.reward_design.design_problem import DesignedReward, DesignProblem, far_constraints
from handaxe.papers.reward_design.solve_weights import solve_weights
from handaxe.papers.reward_design.structures import sparse_basis

__all__ = ["choose_states", "explicable_reward"]


def explicable_reward(problem: DesignProblem, basis_KW: np.ndarray, *, invariant: bool = True) -> DesignedReward:
    """Find the most informative reward of a structure, by a linear program.

        max I(R) - penalty sum |w|   subject to   gap_inf(s, a) >= gap(s) for a outside the target,
                                                  gap_inf(s, a) >= 0 for others,  R = basis w,  |w| <= limit

    Args:
        problem: process, target and horizons.
        basis_KW: structure of the reward, of `sparse_basis` or `leaf_basis`.
        invariant: False leaves out the gaps at an infinite horizon, for comparison.

    Returns:
        The reward, and its informativeness less the penalty.

    Raises:
        InputError: a basis of another process, or no reward of this structure has the required gaps.

    Example:
        explicable_reward(DesignProblem.of(mdp, reward_SA, limit=10.0), sparse_basis((41, 4), [goal, door]))

    Paper: Devidze et al., NeurIPS 2021 (EXPRD), the optimization problem; in line with the released code.
    Differs: one optimal policy serves as target, as in the code of arXiv:2402.07019; the paper takes the mean over
        several. Slack variables make the hinge linear.
    """
    states, actions = problem.reward_SA.shape
    slacks = len(problem.near) * states
    far_RW, limit_R = far_constraints(problem, basis_KW)
    outside_M = np.flatnonzero(~problem.target.optimal_SA.reshape(-1))
    rows = [far_RW] if invariant else []
    limits = [limit_R] if invariant else []
    slack_rows = [np.zeros((len(far_RW), slacks))] if invariant else []
    for number, near_KK in enumerate(problem.near):
        slack_MX = np.zeros((len(outside_M), slacks))
        slack_MX[np.arange(len(outside_M)), number * states + outside_M // actions] = -1.0
        slack_rows.append(slack_MX)
        rows.append(-near_KK[outside_M] @ basis_KW)
        limits.append(-problem.required_SA.reshape(-1)[outside_M])
    weight_W, value = solve_weights(
        np.zeros(basis_KW.shape[1]), np.vstack(rows), np.concatenate(limits), problem.limit, np.vstack(slack_rows)
    )
    return DesignedReward((basis_KW @ weight_W).reshape(states, actions), value)


def choose_states(problem: DesignProblem, count: int, *, candidates: Collection[int]) -> list[int]:
    """Choose states of a sparse reward one by one, each the best addition to those before.

        Z_0 = states with a true reward,  Z_k+1 = Z_k + argmax_s I(best reward on Z_k + s)

    Args:
        problem: process, target and horizons.
        count: states to add, 0 or more.
        candidates: where states are added.

    Returns:
        Z, the states with a true reward first, then the additions in order; the lowest number of equals.

    Raises:
        InputError: more states than candidates.

    Example:
        choose_states(problem, 2, candidates=range(40))  ->  [goal, first, second]

    Paper: Devidze et al., NeurIPS 2021 (EXPRD), greedy selection; in line with the released code.
    Differs: nothing.
    """
    shape = problem.reward_SA.shape
    chosen = [int(state) for state in np.flatnonzero(problem.reward_SA.any(1))]
    if not 0 <= count <= len(set(candidates) - set(chosen)):
        raise InputError(f"count is {count} with {len(set(candidates) - set(chosen))} candidates; give at most as many")
    for _ in range(count):
        values = {
            state: explicable_reward(problem, sparse_basis(shape, [*chosen, state])).informativeness
            for state in sorted(set(candidates) - set(chosen))
        }
        best = max(values.values())
        chosen.append(next(state for state, value in values.items() if value >= best - 1e-9))
    return chosen
