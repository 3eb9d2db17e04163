"""Scale advantages by how unsure the policy was, compared with the whole batch."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import Shape
from handaxe.core.records import Rated, Trajectory
from handaxe.ops.ragged import feature as feature_of
from handaxe.ops.ragged import gather, scatter
from handaxe.ops.returns import standardise

__all__ = ["entropy_scaled"]


def entropy_scaled(*, weight: float = 0.2, feature: str = "entropy") -> Shape:
    """Raise the advantages of tokens before which the policy was less sure than usual, and lower the others.

        z_t = (H_t - mean(H)) / std(H)          A'_t = A_t * (1 + weight * z_t)

    H_t is the entropy of the policy before token t. Mean and std (n - 1) are over the tokens that train, of every
    trained trajectory in the batch. Tokens that do not train (`Rated.training_mask`) are neither counted nor changed,
    and value targets (`returns`) stay as they are. A token with z_t < -1 / weight changes its sign.

    Args:
        weight: a; 0.2 in the released code.
        feature: what H_t is read from: "entropy", of `annotate`.

    Returns:
        A shape: [Rated] -> [Rated], the same groups in the same order. Entropies equal up to rounding, or of a single
        token, change nothing.

    Raises:
        InputError: a trajectory that trains has no such feature.

    Example:
        H 1, 2, 3 and A 0.5 at each  ->  z -1, 0, 1  ->  A' 0.4, 0.5, 0.6

    Paper: AEPO, arXiv:2510.14545, entropy-aware advantage estimation.
    Differs: statistics of the batch, where the released code has those of a micro-batch.
    """

    def shape(rated: Sequence[Rated]) -> list[Rated]:
        trains = [[_trains(one, i) for i in range(len(one.group))] for one in rated]
        found = [
            feature_of(trajectory, feature)[trains_P] if trains_P.any() else np.zeros(0)
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


def _trains(one: Rated, i: int) -> np.ndarray:
    """[P] bool: which of the policy's tokens train."""
    return gather(one.group[i], one.training_mask(i)).astype(bool)


def _scaled(
    trajectory: Trajectory, adv: Sequence[np.ndarray], trains_P: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, ...]:
    factor_P = np.ones(len(trains_P))
    factor_P[trains_P] = scale
    return tuple(adv_T * factor_T for adv_T, factor_T in zip(adv, scatter(trajectory, factor_P), strict=True))
