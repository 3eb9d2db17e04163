"""Count bonus, and gradients of policy and intrinsic reward from sampled episodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["Episodes", "intrinsic_gradient", "reinforce_gradient", "state_sums", "visit_bonus"]


class Episodes(NamedTuple):
    """Steps of one or more episodes of each run, [T, N]; weight is 0 after an episode's end.

    own and true are returns to go, of the agent's and of the true reward; chances_TNA are the policy's when it acted.
    """

    state_TN: np.ndarray
    action_TN: np.ndarray
    weight_TN: np.ndarray
    own_TN: np.ndarray
    true_TN: np.ndarray
    chances_TNA: np.ndarray


def visit_bonus(visits: np.ndarray, *, bonus: float, most: float) -> np.ndarray:
    """Compute the bonus of states that were visited some times.

        B(s) = lambda / sqrt((lambda / most)^2 + visits(s))

    Args:
        visits: counts, 0 or more, of any shape.
        bonus: lambda, > 0.
        most: bonus of a state without visits, > 0.

    Returns:
        In (0, most], of the shape of visits.

    Raises:
        InputError: a bonus or maximum that is not above 0.

    Example:
        lambda 1, most 1: visits 0, 3, 8  ->  1, 0.5, 0.3333

    Paper: Devidze et al., NeurIPS 2022 (EXPLORS), B_w; in line with the released code.
    Differs: nothing.
    """
    if not bonus > 0 or not most > 0:
        raise InputError(f"bonus is {bonus} and its maximum {most}; give numbers above 0")
    return np.asarray(bonus / np.sqrt((bonus / most) ** 2 + visits))


def intrinsic_gradient(found: Episodes, value_NS: np.ndarray) -> np.ndarray:
    """Estimate the gradient of the true return in the intrinsic reward, through one update of the policy.

        dJ/d phi(s, b) = sum over steps (s, a) of pi(a|s) (G - V(s)) (1[a = b] - pi(b|s))

    G is the true return to go and V the critic. The inner update is a policy gradient step with the immediate intrinsic
    reward, phi(s, a) - phi(s, pi). So phi rises for actions with a true return above that of the state.

    Args:
        found: steps.
        value_NS: critic of each run.

    Returns:
        [N, S, A].

    Example:
        a step with G - V = 1 and the first of two equally likely actions  ->  1/4, -1/4

    Paper: Devidze et al., NeurIPS 2022 (EXPLORS), meta-gradient of R_phi; in line with the released code.
    Differs: nothing.
    """
    run_N = np.arange(found.state_TN.shape[1])
    chosen_TNA = np.eye(found.chances_TNA.shape[2])[found.action_TN]
    taken_TN = (found.chances_TNA * chosen_TNA).sum(2)
    gain_TN = found.weight_TN * taken_TN * (found.true_TN - value_NS[run_N, found.state_TN])
    return state_sums(found, gain_TN[:, :, None] * (chosen_TNA - found.chances_TNA), value_NS.shape[1])


def reinforce_gradient(found: Episodes, policy_NSA: np.ndarray) -> np.ndarray:
    """Estimate the policy gradient of the agent's reward.

        d/d logits(s, b) = mean over steps (s, a) of G (1[a = b] - pi(b|s))

    G is the return to go of the agent's reward; the policy is the present one.

    Returns:
        [N, S, A].

    Example:
        one step with G = 2 and the first of two equally likely actions  ->  1, -1

    Paper: Devidze et al., NeurIPS 2022 (EXPLORS), REINFORCE of the experiments; in line with the released code.
    Differs: nothing.
    """
    states, actions = policy_NSA.shape[1:]
    run_N = np.arange(len(policy_NSA))
    chosen_TNA = np.eye(actions)[found.action_TN]
    push_TN = found.weight_TN * found.own_TN
    sums_NSA = state_sums(found, push_TN[:, :, None] * (chosen_TNA - policy_NSA[run_N, found.state_TN]), states)
    return np.asarray(sums_NSA / np.maximum(found.weight_TN.sum(0), 1.0)[:, None, None])


def state_sums(found: Episodes, value_TNA: np.ndarray, states: int) -> np.ndarray:
    """Add values over the steps of each run and state.

    Args:
        found: steps.
        value_TNA: values, 0 after an episode's end.
        states: number of states.

    Returns:
        [N, S, A].

    Example:
        two steps in state 1 with values 2 and 3  ->  5 in state 1
    """
    runs = found.state_TN.shape[1]
    sums_KA = np.zeros((runs * states, value_TNA.shape[2]))
    np.add.at(sums_KA, np.arange(runs) * states + found.state_TN, value_TNA)
    return sums_KA.reshape(runs, states, -1)
