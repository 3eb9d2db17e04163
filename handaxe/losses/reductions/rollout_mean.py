"""Mean over rollouts with equal weights at any length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import Batch
from handaxe.losses.parts.components import Reduction
from handaxe.ops.masked import masked_sum

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["rollout_mean"]


def rollout_mean() -> Reduction:
    """Average over the tokens of each rollout, then over rollouts (seq-mean-token-mean).

        L = (1 / number of rollouts) sum_i (1 / |y_i|) sum_t loss_it

    |y_i| counts the trained tokens of the whole rollout, in all its rows: a rollout of three rows has the weight of a
    single-row rollout. The number of rollouts excludes rollouts without a trained token.

    Returns:
        A reduction: (loss_BT, Batch) -> scalar. 0 without a trained rollout.

    Example:
        rows [1, 1] and [2, 2, 2, 2, 2, 2]  ->  (1 + 2) / 2 = 1.5

    Paper: arXiv:2402.03300 (GRPO), Eq. (3).
    Differs: nothing.
    """

    def reduction(loss_BT: Tensor, batch: Batch) -> Tensor:
        mean_B = masked_sum(loss_BT, batch.mask_BT, 1) / batch.rollout_tokens_B.clamp(min=1)
        return mean_B.sum() / (batch.denominators.rollouts or 1.0)

    return reduction
