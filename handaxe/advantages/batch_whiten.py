"""Whiten advantages over all trained tokens of a batch."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup
from handaxe.ops.ragged import scatter, token_turn_indices
from handaxe.ops.returns import Std, whiten

__all__ = ["batch_whiten"]

Within = Literal["batch", "turn"]


def batch_whiten(
    *, centre: bool = True, std: Std = "sample", eps: float = 1e-8, within: Within = "batch"
) -> AdvantageTransform:
    """Scale the advantages of a whole batch to mean 0 and variance 1, token by token.

        A' = (A - mean(A)) / sqrt(var(A) + eps)

    Mean and var are over the training tokens of every trained trajectory in the batch; a long trajectory weighs more.
    Other tokens (outside `RatedGroup.training_mask`) are neither counted nor changed, and value targets (`returns`)
    stay unchanged.

    Args:
        centre: False adds the mean back: only the scale changes.
        std: "sample" divides var by n - 1, "population" by n.
        eps: added to the variance, in squared units of reward; 1e-8 in released code.
        within: mean and var of all tokens ("batch"), or of the tokens of each turn index ("turn"). The latter removes
            an advantage that depends on the number of the turn alone, as of positive rewards with an untrained critic.

    Returns:
        A transform: [RatedGroup] -> [RatedGroup], the same groups in the same order. Fewer than two tokens, or
        advantages equal up to rounding, become 0 (or stay unchanged if `centre` is False).

    Example:
        three one-token trajectories with advantages 1, 1, 0  ->  0.57735, 0.57735, -1.15470

        tokens of turns 0, 0, 1, 1 with 3, 1, 0, 0, by turn  ->  0.70711, -0.70711, 0, 0

    Raises:
        InputError: an unknown `within`.

    Paper: arXiv:2501.03262 (REINFORCE++), section 3; also usual after `gae`. Differs: nothing.
    """
    if within not in ("batch", "turn"):
        raise InputError(f"batch_whiten takes within='batch' or 'turn', not {within!r}")

    def shape(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        masks = [[one.training_mask(i) for i in range(len(one.group))] for one in rated]
        flat = [
            adv_T[mask_T]
            for one, siblings in zip(rated, masks)
            for arrays, own in zip(one.advantages.tokens, siblings, strict=True)
            for adv_T, mask_T in zip(arrays, own, strict=True)
        ]
        values_N = np.concatenate([np.zeros(0), *flat])
        white, class_N = np.zeros(len(values_N)), _classes(rated, masks, within)
        for k in np.unique(class_N):
            white[class_N == k] = whiten(values_N[class_N == k], centre=centre, std=std, eps=eps)
        pieces = iter(np.split(white, np.cumsum([len(part) for part in flat], dtype=int)))
        out = []
        for one, siblings in zip(rated, masks):
            tokens = tuple(
                tuple(_replaced(adv_T, mask_T, next(pieces)) for adv_T, mask_T in zip(arrays, own))
                for arrays, own in zip(one.advantages.tokens, siblings)
            )
            out.append(replace(one, advantages=replace(one.advantages, tokens=tokens)))
        return out

    return shape


def _classes(
    rated: Sequence[RatedGroup], masks: Sequence[Sequence[Sequence[np.ndarray]]], within: Within
) -> np.ndarray:
    """[N] int: turn index of each trained token, or 0."""
    found = [np.zeros(0, int)]
    for one, siblings in zip(rated, masks):
        for trajectory, own in zip(one.group, siblings, strict=True):
            turns = scatter(trajectory, token_turn_indices(trajectory) if within == "turn" else 0.0)
            found += [turn_T[mask_T].astype(int) for turn_T, mask_T in zip(turns, own, strict=True)]
    return np.concatenate(found)


def _replaced(adv_T: np.ndarray, mask_T: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = adv_T.copy()
    out[mask_T] = values
    return out
