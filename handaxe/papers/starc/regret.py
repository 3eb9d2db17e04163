"""Loss of return from optimizing one reward instead of another."""

from __future__ import annotations

import numpy as np

from handaxe.ops.finite_mdp import FiniteMdp, expected_reward, mean_return, optimal_action_values, softmax_policy

__all__ = ["mutual_regret", "regret"]


def regret(mdp: FiniteMdp, true_SAZ: np.ndarray, proxy_SAZ: np.ndarray) -> float:
    """Compute the regret of the policy that is optimal for a proxy, as a share of the range of returns.

        (max J - J(pi_proxy)) / (max J - min J)         J: return under the true reward

    Args:
        true_SAZ, proxy_SAZ: rewards.

    Returns:
        0 to 1; 0 if all policies have the same return. Ties of the proxy go to the first action.

    Example:
        one state, two arms, true (1, 0): proxy (2, 1) -> 0, proxy (0, 1) -> 1

    Paper: arXiv:2309.15257 (STARC), regret of the experiments.
    Unconfirmed: the normalization; from memory.
    Differs: nothing.
    """
    true_SA = expected_reward(mdp, true_SAZ)
    proxy_SA = expected_reward(mdp, proxy_SAZ)
    best = _optimum(mdp, true_SA)
    worst = -_optimum(mdp, -true_SA)
    span = best - worst
    if span <= 1e-9 * max(1.0, abs(best)):
        return 0.0
    found = mean_return(mdp, softmax_policy(optimal_action_values(mdp, proxy_SA)), true_SA)
    return float(np.clip((best - found) / span, 0.0, 1.0))


def mutual_regret(mdp: FiniteMdp, first_SAZ: np.ndarray, second_SAZ: np.ndarray) -> float:
    """Return the mean of both regrets, of the first reward's optimum under the second and the reverse.

    Example:
        one state, two arms, rewards (1, 0) and (0, 1)  ->  1
    """
    return (regret(mdp, first_SAZ, second_SAZ) + regret(mdp, second_SAZ, first_SAZ)) / 2


def _optimum(mdp: FiniteMdp, reward_SA: np.ndarray) -> float:
    return mean_return(mdp, softmax_policy(optimal_action_values(mdp, reward_SA)), reward_SA)
