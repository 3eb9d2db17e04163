"""Distances between rewards from before STARC: EPIC and DARD."""

from __future__ import annotations

import numpy as np

from handaxe.ops.finite_mdp import FiniteMdp
from handaxe.papers.starc.reward_distance import checked_reward

__all__ = ["dard_distance", "epic_distance"]


def epic_distance(mdp: FiniteMdp, first_SAZ: np.ndarray, second_SAZ: np.ndarray) -> float:
    """Compute the EPIC distance of two rewards, with uniform distributions over states and actions.

        c(R)[s, a, z] = R[s, a, z] + E[discount R(z, A, S') - R(s, A, S') - discount R(S, A, S')]
        d(R1, R2) = sqrt((1 - rho) / 2)        rho: Pearson's correlation of c(R1) and c(R2) over all [s, a, z]

    S, S' and A are independent and uniform, whatever the transitions. 0 for rewards that differ by potential-based
    shaping and a positive factor; a redistribution over next states changes it.

    Args:
        mdp: discount and shapes.
        first_SAZ, second_SAZ: rewards.

    Returns:
        0 to 1; a reward with a constant c(R) has the distance 0.5 from others, and 0 from its like.

    Raises:
        InputError: see `papers.starc.reward_distance.reward_distance`.

    Example:
        one state, two arms, discount 0: R1 = (1, 0) and R2 = (3, 1)  ->  0;  R3 = (0, 1)  ->  1

    Paper: arXiv:2006.13900 (EPIC), a comparison of arXiv:2309.15257 (STARC).
    Unconfirmed: the formulas; from memory.
    Differs: exact sums replace samples; the coverage distribution is uniform.
    """

    def canonical(reward_SAZ: np.ndarray) -> np.ndarray:
        mean_S = reward_SAZ.mean((1, 2))
        shift_SZ = mdp.discount * mean_S[None, :] - mean_S[:, None] - mdp.discount * mean_S.mean()
        return reward_SAZ + shift_SZ[:, None, :]

    return _pearson_distance(*(canonical(checked_reward(mdp, one)) for one in (first_SAZ, second_SAZ)))


def dard_distance(mdp: FiniteMdp, first_SAZ: np.ndarray, second_SAZ: np.ndarray) -> float:
    """Compute the DARD distance of two rewards, with uniform actions and the transitions of the process.

        c(R)[s, a, z] = R[s, a, z] + E[discount R(z, A, S'') - R(s, A, S') - discount R(S', A, S'')]
        S' ~ P[s, A],  S'' ~ P[z, A];  d as in `epic_distance`

    0 for rewards that differ by potential-based shaping and a positive factor. The expectations read rewards of
    possible transitions alone.

    Args:
        mdp: transitions and discount.
        first_SAZ, second_SAZ: rewards.

    Returns:
        0 to 1, as of `epic_distance`.

    Raises:
        InputError: see `papers.starc.reward_distance.reward_distance`.

    Example:
        one state, two arms, discount 0: R1 = (1, 0) and R2 = (3, 1)  ->  0;  R3 = (0, 1)  ->  1

    Paper: arXiv:2201.10081 (DARD), a comparison of arXiv:2309.15257 (STARC).
    Unconfirmed: the formulas, and that one action is drawn for both transitions; from memory.
    Differs: exact sums replace samples; the coverage distribution is uniform.
    """
    next_SAZ = mdp.transition_SAZ

    def canonical(reward_SAZ: np.ndarray) -> np.ndarray:
        mean_S = (next_SAZ * reward_SAZ).sum(2).mean(1)
        after_SZ = np.einsum("say,zax,yax->sz", next_SAZ, next_SAZ, reward_SAZ) / next_SAZ.shape[1]
        shift_SZ = mdp.discount * mean_S[None, :] - mean_S[:, None] - mdp.discount * after_SZ
        return reward_SAZ + shift_SZ[:, None, :]

    return _pearson_distance(*(canonical(checked_reward(mdp, one)) for one in (first_SAZ, second_SAZ)))


def _pearson_distance(first_SAZ: np.ndarray, second_SAZ: np.ndarray) -> float:
    """Half the distance of the centred arrays at norm 1, which is sqrt((1 - rho) / 2)."""
    first_SAZ, second_SAZ = (_standard(one) for one in (first_SAZ, second_SAZ))
    return float(np.linalg.norm(first_SAZ - second_SAZ) / 2)


def _standard(canonical_SAZ: np.ndarray) -> np.ndarray:
    centred_SAZ = canonical_SAZ - canonical_SAZ.mean()
    size = np.linalg.norm(centred_SAZ)
    return centred_SAZ / size if size > 1e-12 * np.linalg.norm(canonical_SAZ) else np.zeros_like(centred_SAZ)
