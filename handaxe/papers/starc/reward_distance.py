"""Distance between rewards of a finite Markov decision process that ignores what cannot change a policy's rank."""

from __future__ import annotations

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, expected_reward, policy_values

__all__ = ["canonical_reward", "checked_reward", "reward_distance", "standard_reward"]


def reward_distance(
    mdp: FiniteMdp,
    first_SAZ: np.ndarray,
    second_SAZ: np.ndarray,
    *,
    policy_SA: np.ndarray | None = None,
    canonical: bool = True,
) -> float:
    """Compute the STARC distance of two rewards.

        c(R)[s, a, z] = sum_y P[s, a, y] (R[s, a, y] - V[s] + discount V[y])     V: values of the policy under R
        s(R) = c(R) / |c(R)|, 0 if c(R) = 0
        d(R1, R2) = |s(R1) - s(R2)| / 2                                          Euclidean norms

    A pseudometric: 0 for rewards that differ by potential-based shaping, by a positive factor, or by a redistribution
    of a transition's reward over next states that keeps the mean; such rewards order all policies alike.

    Args:
        mdp: transitions and discount.
        first_SAZ, second_SAZ: rewards.
        policy_SA: of the values, with full support; uniform by default.
        canonical: False leaves out c, for comparison: distance of the normalized rewards.

    Returns:
        0 to 1.

    Raises:
        InputError: a reward of another shape than the transitions, or not finite.

    Example:
        one state, two arms, discount 0, R1 = (1, 0): c = (0.5, -0.5), s = (0.7071, -0.7071)
        R2 = (3, 1)  ->  the same s, distance 0;   R3 = (0, 1)  ->  the opposite, distance 1

    Paper: arXiv:2309.15257 (STARC), value-adjusted levelling, L2 norms.
    Unconfirmed: the formulas; from memory.
    Differs: the norm counts each [s, a] once per next state, as the paper's, since c(R) does not depend on z; one
        canonicalisation and one norm are here, of several in the paper.
    """
    first = standard_reward(mdp, first_SAZ, policy_SA=policy_SA, canonical=canonical)
    second = standard_reward(mdp, second_SAZ, policy_SA=policy_SA, canonical=canonical)
    return float(np.linalg.norm(first - second) / 2)


def standard_reward(
    mdp: FiniteMdp, reward_SAZ: np.ndarray, *, policy_SA: np.ndarray | None = None, canonical: bool = True
) -> np.ndarray:
    """Normalize the canonical reward, or the reward itself, to Euclidean norm 1; see `reward_distance`.

    A canonical reward that is 0 up to rounding counts as 0: all policies have the same return.

    Returns:
        [S, A, Z].

    Example:
        one state, two arms, discount 0, R = (1, 0)  ->  (0.7071, -0.7071); with canonical=False (1, 0)
    """
    found_SAZ = canonical_reward(mdp, reward_SAZ, policy_SA=policy_SA) if canonical else checked_reward(mdp, reward_SAZ)
    size = np.linalg.norm(found_SAZ)
    rounding = 1e-12 * np.linalg.norm(reward_SAZ) / (1 - mdp.discount)
    return found_SAZ / size if size > rounding else np.zeros_like(found_SAZ)


def canonical_reward(mdp: FiniteMdp, reward_SAZ: np.ndarray, *, policy_SA: np.ndarray | None = None) -> np.ndarray:
    """Level a reward by the values of a policy: c(R) of `reward_distance`, the policy's advantages.

    Returns:
        [S, A, Z], equal for all next states.

    Raises:
        InputError: see `reward_distance`.

    Example:
        one state, two arms, discount 0, R = (1, 0), uniform policy: V = 0.5  ->  (0.5, -0.5)
    """
    mean_SA = expected_reward(mdp, checked_reward(mdp, reward_SAZ))
    if policy_SA is None:
        policy_SA = np.full(mean_SA.shape, 1 / mean_SA.shape[1])
    value_S = policy_values(mdp, policy_SA, mean_SA)
    levelled_SA = mean_SA - value_S[:, None] + mdp.discount * mdp.transition_SAZ @ value_S
    return np.repeat(levelled_SA[:, :, None], len(value_S), axis=2)


def checked_reward(mdp: FiniteMdp, reward_SAZ: np.ndarray) -> np.ndarray:
    """Return a reward in float64.

    Raises:
        InputError: a reward of another shape than the transitions, or not finite.

    Example:
        two arms of one state, and a reward [2]  ->  InputError
    """
    if reward_SAZ.shape != mdp.transition_SAZ.shape or not np.isfinite(reward_SAZ).all():
        raise InputError(
            f"a reward has shape {reward_SAZ.shape} and transitions {mdp.transition_SAZ.shape}; give finite numbers of"
            " equal shape"
        )
    return np.asarray(reward_SAZ, np.float64)
