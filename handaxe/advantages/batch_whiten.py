"""Whiten advantages over all trained tokens of a batch."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.protocols import AdvantageTransform
from handaxe.core.records import RatedGroup
from handaxe.ops.returns import Std, whiten

__all__ = ["batch_whiten"]


def batch_whiten(*, centre: bool = True, std: Std = "sample", eps: float = 1e-8) -> AdvantageTransform:
    """Scale the advantages of a whole batch to mean 0 and variance 1, token by token.

        A' = (A - mean(A)) / sqrt(var(A) + eps)

    Mean and var are over the training tokens of every trained trajectory in the batch; a long trajectory weighs more.
    Other tokens (outside `RatedGroup.training_mask`) are neither counted nor changed, and value targets (`returns`)
    stay unchanged.

    Args:
        centre: False adds the mean back: only the scale changes.
        std: "sample" divides var by n - 1, "population" by n.
        eps: added to the variance, in squared units of reward; 1e-8 in released code.

    Returns:
        A transform: [RatedGroup] -> [RatedGroup], the same groups in the same order. Fewer than two tokens, or
        advantages equal up to rounding, become 0 (or stay unchanged if `centre` is False).

    Example:
        three one-token trajectories with advantages 1, 1, 0  ->  0.57735, 0.57735, -1.15470

    Paper: arXiv:2501.03262 (REINFORCE++), section 3; also usual after `gae`. Differs: nothing.
    """

    def shape(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        masks = [[one.training_mask(i) for i in range(len(one.group))] for one in rated]
        flat = [
            adv_T[mask_T]
            for one, siblings in zip(rated, masks)
            for arrays, own in zip(one.advantages.tokens, siblings, strict=True)
            for adv_T, mask_T in zip(arrays, own, strict=True)
        ]
        white = whiten(np.concatenate([np.zeros(0), *flat]), centre=centre, std=std, eps=eps)
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


def _replaced(adv_T: np.ndarray, mask_T: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = adv_T.copy()
    out[mask_T] = values
    return out
