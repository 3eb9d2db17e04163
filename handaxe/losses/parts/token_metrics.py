"""Metrics of losses, divided by global denominators, so that micro-batches add up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from handaxe.core.batch import Batch
from handaxe.core.deferred import torch
from handaxe.ops.masked import masked_sum

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["effective_sample_size", "floats", "mean_over_tokens"]


def floats(named: Mapping[str, Tensor]) -> dict[str, float]:
    """Scalars of one dtype as Python numbers, in one transfer from the device."""
    if not named:
        return {}
    return dict(zip(named, torch.stack([value.detach() for value in named.values()]).tolist()))


def mean_over_tokens(x_BT: Tensor, batch: Batch) -> Tensor:
    """Mean over the trained tokens of the whole optimizer step: the share of this batch, without gradient."""
    return masked_sum(x_BT.detach(), batch.mask_BT) / (batch.denominators.tokens or 1.0)


def effective_sample_size(metrics: Mapping[str, float]) -> float:
    """Effective share of the tokens after a correction: (mean w)^2 / mean w^2.

    It is no sum over micro-batches, so compute it from the combined metrics of an optimizer step.

    Args:
        metrics: of a `policy` loss with a correction: correction_mean and correction_square.

    Returns:
        in [0, 1]; 1 for equal weights, 0 if all are 0.

    Example:
        weights 2/3, 2/3, 2/3, 2  ->  mean 1, mean square 4/3  ->  0.75
    """
    square = metrics["correction_square"]
    return metrics["correction_mean"] ** 2 / square if square > 0 else 0.0
