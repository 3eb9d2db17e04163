"""Sum over tokens, divided by a constant: length is neither rewarded nor penalized."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Reduction
from handaxe.ops.masked import masked_sum

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["constant_length"]


def constant_length(*, length: float, per_rollout: bool = True) -> Reduction:
    """Divide the token sum by a length that is independent of the data.

        L = (1 / number of rollouts) sum_i (1 / length) sum_t loss_it           per_rollout=True, the paper
        L = sum_i (1 / length) sum_t loss_it                                    per_rollout=False, verl's
                                                                                "seq-mean-token-sum-norm"

    Args:
        length: tokens, > 0; the longest response that sampling allows (3000 in the paper).
        per_rollout: False leaves out the number of rollouts, so that the loss grows with the batch.

    Returns:
        A reduction: (loss_BT, Batch) -> scalar. 0 without a trained rollout.

    Raises:
        InputError: length is not positive.

    Example:
        rows [1, 1] and [2, 2, 2, 2, 2, 2], length 8  ->  14 / 8 / 2 = 0.875; per_rollout=False  ->  1.75

    Paper: arXiv:2503.20783 (Dr. GRPO).
    Differs: nothing.
    """
    if length <= 0:
        raise InputError(f"length is a number of tokens and must be positive, not {length}")

    def reduction(loss_BT: Tensor, batch: Batch) -> Tensor:
        rollouts = (batch.denominators.rollouts or 1.0) if per_rollout else 1.0
        return masked_sum(loss_BT, batch.mask_BT) / (length * rollouts)

    return reduction
