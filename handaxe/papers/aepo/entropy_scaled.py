"""Advantage transform by the policy's entropy relative to the batch."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.ops.ragged import gather, scatter, token_feature
from handaxe.ops.returns import standardise

__all__ = ["entropy_scaled"]


def entropy_scaled(*, weight: float = 0.2, feature: str = "entropy") -> AdvantageTransform:
    """Scale advantages up at tokens of above-average entropy, and down at the others.

        z_t = (H_t - mean(H)) / std(H)          A'_t = A_t * (1 + weight * z_t)

    H_t is the policy's entropy at token t. Mean and std (n - 1) are over the trained tokens of all trajectories in the
    batch. Untrained tokens (`training_mask`) are neither counted nor changed, and value targets (`returns`) stay as
    they are. The sign of a token with z_t < -1 / weight flips.

    Args:
        weight: a; 0.2 in the released code.
        feature: annotation that H_t is read from: "entropy", of `annotate`.

    Returns:
        An advantage transform: rated groups -> rated groups, in the same order. Entropies equal up to rounding, or a
        single token, change nothing.

    Raises:
        InputError: a trained trajectory without the feature.

    Example:
        H 1, 2, 3 and A 0.5 at each  ->  z -1, 0, 1  ->  A' 0.4, 0.5, 0.6

    Paper: AEPO, arXiv:2510.14545, entropy-aware advantage estimation.
    Differs: statistics of the batch, and entropies from before the first minibatch; in the released code both are those
        of a micro-batch under the current policy.
    """

    def shape(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        trains = [[_trains(one, i) for i in range(len(one.group))] for one in rated]
        found = [
            token_feature(trajectory, feature)[trains_P] if trains_P.any() else np.zeros(0)
            for one, siblings in zip(rated, trains)
            for trajectory, trains_P in zip(one.group, siblings)
        ]
        scale = 1 + weight * standardise(np.concatenate([np.zeros(0), *found]), eps=0.0)
        pieces = iter(np.split(scale, np.cumsum([len(part) for part in found], dtype=int)))
        out = []
        for one, siblings in zip(rated, trains):
            tokens = tuple(
                _scaled(trajectory, adv, trains_P, next(pieces))
                for trajectory, adv, trains_P in zip(one.group, one.advantages.tokens, siblings)
            )
            out.append(replace(one, advantages=replace(one.advantages, tokens=tokens)))
        return out

    return shape


def _trains(one: RatedGroup, i: int) -> np.ndarray:
    """[P] bool: True for trained tokens."""
    return gather(one.group[i], one.training_mask(i)).astype(bool)


def _scaled(
    trajectory: Trajectory, adv: Sequence[np.ndarray], trains_P: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, ...]:
    factor_P = np.ones(len(trains_P))
    factor_P[trains_P] = scale
    return tuple(adv_T * factor_T for adv_T, factor_T in zip(adv, scatter(trajectory, factor_P), strict=True))
