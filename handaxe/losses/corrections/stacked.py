"""Combines several corrections.

Kept: released trainers combine importance weights and rejection masks.
"""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Correction, Weights

__all__ = ["stacked"]


def stacked(*, corrections: Sequence[Correction]) -> Correction:
    """Multiply the weights of several corrections, such as a truncated weight and a veto.

        w_t = w1_t w2_t ...         and likewise the raw weights

    Args:
        corrections: at least one.

    Returns:
        A correction: Batch -> Weights of [B, T], 0 off the mask.

    Raises:
        InputError: no correction.

    Example:
        weights 1.5, 2 and 1, 0  ->  1.5, 0

    Idea: importance weights and rejection masks, as released trainers combine them.
    Differs: nothing.
    """
    if not corrections:
        raise InputError("stacked needs at least one correction; for none, give policy(correction=None)")
    first, *rest = corrections

    def correction(batch: Batch) -> Weights:
        weight_BT, raw_BT = first(batch)
        for other in rest:
            weights = other(batch)
            weight_BT, raw_BT = weight_BT * weights.weight_BT, raw_BT * weights.raw_BT
        return Weights(weight_BT, raw_BT)

    return correction
