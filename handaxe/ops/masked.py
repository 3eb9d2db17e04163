"""Sums and means over the tokens that a mask lets through.

What lies under the mask may be anything, NaN and infinity included: it is replaced by 0 before any arithmetic, so that
it reaches neither the value nor the gradient. Multiplying by the mask would not do: 0 * NaN is NaN.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["masked", "masked_mean", "masked_sum", "sum_by"]


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """`x` where the mask is True, exactly 0 elsewhere; the gradient elsewhere is exactly 0 too.

    Args:
        x: any shape.
        mask: bool, of the same shape or one that broadcasts to it.
    """
    return torch.where(mask, x, 0.0)


def masked_sum(x: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """Sum of `x` where the mask is True, over one axis or over all; 0 where nothing is."""
    kept = masked(x, mask)
    return kept.sum() if dim is None else kept.sum(dim)


def masked_mean(x: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """Mean of `x` where the mask is True, over one axis or over all; 0 where nothing is.

    The count is local. A loss must divide by the batch's global denominators instead; this is for statistics that are
    by definition local.
    """
    count = mask.sum() if dim is None else mask.sum(dim)
    return masked_sum(x, mask, dim) / count.clamp(min=1)


def sum_by(x_B: Tensor, key_B: Tensor) -> Tensor:
    """Give each row the sum of `x` over all rows with the same key.

    Written over all pairs of rows, so that the result does not depend on the order in which a scatter happens to add.

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
