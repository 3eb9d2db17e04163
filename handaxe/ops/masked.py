"""Sums and means over unmasked tokens.

Masked entries may hold any value, NaN and infinity included: 0 replaces them before any arithmetic, so that they reach
neither the value nor the gradient. Multiplying by the mask is not enough: 0 * NaN is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.deferred import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["masked", "masked_mean", "masked_sum", "sum_by_key"]


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """Return `x` where the mask is True and exactly 0 elsewhere; the gradient elsewhere is exactly 0, too.

    Args:
        x: any shape.
        mask: bool, of the same shape or broadcastable.
    """
    return torch.where(mask, x, 0.0)


def masked_sum(x: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """Sum `x` where the mask is True, over one axis or over all axes; 0 if the mask is False throughout."""
    values = masked(x, mask)
    return values.sum() if dim is None else values.sum(dim)


def masked_mean(x: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """Average `x` where the mask is True, over one axis or over all axes; 0 if the mask is False throughout.

    The count is local. A loss divides by the batch's global denominators instead; local means are for statistics.
    """
    count = mask.sum() if dim is None else mask.sum(dim)
    return masked_sum(x, mask, dim) / count.clamp(min=1)


def sum_by_key(x_B: Tensor, key_B: Tensor) -> Tensor:
    """Give each row the sum of `x` over all rows with an equal key.

    Computed over all pairs of rows, so that the result does not depend on the summation order of a scatter.

    Args:
        x_B: [B] numbers.
        key_B: [B] int64.

    Returns:
        [B].

    Example:
        x 1, 2, 4 with keys 0, 1, 0  ->  5, 2, 5
    """
    same_BB = key_B[:, None] == key_B[None, :]
    return torch.where(same_BB, x_B[None, :], 0).sum(1)
