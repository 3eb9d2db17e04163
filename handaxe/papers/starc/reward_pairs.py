"""Pairs of rewards at different distances, changed in ways that keep the order of policies."""

from __future__ import annotations

import numpy as np

from handaxe.ops.finite_mdp import FiniteMdp

__all__ = ["equivalent_reward", "reward_pairs"]


def reward_pairs(
    rng: np.random.Generator, mdp: FiniteMdp, *, count: int, equivalents: bool = True
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw pairs of rewards between two independent draws, in equal steps.

        R1 ~ normal;  R2 = (1 - a) R1 + a R',  R' ~ normal,  a = n / (count - 1), n = 0 .. count - 1

    Args:
        rng: of the draws.
        mdp: of the shapes, and of the changes.
        count: pairs, 2 or more.
        equivalents: change R2 by `equivalent_reward`.

    Returns:
        `count` pairs of [S, A, Z].

    Example:
        reward_pairs(np.random.default_rng(0), mdp, count=10)

    Idea: interpolation covers all regrets, and changes without effect on policies show whether a distance ignores them.
    """
    pairs = []
    for share in np.linspace(0.0, 1.0, count):
        first_SAZ = rng.normal(size=mdp.transition_SAZ.shape)
        second_SAZ = (1 - share) * first_SAZ + share * rng.normal(size=mdp.transition_SAZ.shape)
        pairs.append((first_SAZ, equivalent_reward(rng, mdp, second_SAZ) if equivalents else second_SAZ))
    return pairs


def equivalent_reward(rng: np.random.Generator, mdp: FiniteMdp, reward_SAZ: np.ndarray) -> np.ndarray:
    """Change a reward at random without a change of the order of policies.

        R'[s, a, z] = scale R[s, a, z] + discount h[z] - h[s] + e[s, a, z]
        h ~ normal,  scale ~ uniform(0.5, 2),  e ~ normal less its mean under P[s, a]

    Returns:
        [S, A, Z].

    Example:
        one state, discount 0.5: R' = scale R - 0.5 h

    Paper: arXiv:2309.15257 (STARC), potential shaping, S'-redistribution and positive scaling.
    Differs: the sizes of the changes are of this library.
    """
    scale = rng.uniform(0.5, 2.0)
    potential_S = rng.normal(size=len(mdp.start_S))
    noise_SAZ = rng.normal(size=reward_SAZ.shape)
    noise_SAZ = noise_SAZ - (mdp.transition_SAZ * noise_SAZ).sum(2, keepdims=True)
    shaping_SZ = mdp.discount * potential_S[None, :] - potential_S[:, None]
    return scale * reward_SAZ + shaping_SZ[:, None, :] + noise_SAZ
