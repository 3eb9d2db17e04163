"""Mean over all tokens of the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import Batch
from handaxe.losses.parts.components import Reduction
from handaxe.ops.masked import masked_sum

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["token_mean"]


def token_mean() -> Reduction:
    """Average over all trained tokens of the optimizer step.

        L = sum_{i,t} loss_it / (number of trained tokens of the whole step)

    Long rollouts have more weight. The number is `batch.denominators.tokens`, so micro-batches add up.

    Returns:
        A reduction: (loss_BT, Batch) -> scalar. 0 without a trained token.

    Example:
        rows [1, 1] and [2, 2, 2, 2, 2, 2]  ->  14 / 8 = 1.75

    Paper: arXiv:2503.14476 (DAPO), token-level policy gradient loss.
    Differs: nothing.
    """

    def reduction(loss_BT: Tensor, batch: Batch) -> Tensor:
        return masked_sum(loss_BT, batch.mask_BT) / (batch.denominators.tokens or 1.0)

    return reduction
