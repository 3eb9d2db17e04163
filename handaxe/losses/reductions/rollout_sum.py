"""Sum over the tokens of a rollout, mean over rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import Batch
from handaxe.losses.parts.components import Reduction
from handaxe.ops.masked import masked_sum

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["rollout_sum"]


def rollout_sum() -> Reduction:
    """Sum over the tokens of each rollout, then average over rollouts (seq-mean-token-sum).

        L = (1 / number of rollouts) sum_i sum_t loss_it

    With `reinforce` this is the policy gradient of whole rollouts, log pi(y) = sum_t logp_t: unbiased, and the form of
    RLOO. The number of rollouts excludes rollouts without a trained token.

    Returns:
        A reduction: (loss_BT, Batch) -> scalar. 0 without a trained rollout.

    Example:
        rows [1, 1] and [2, 2, 2, 2, 2, 2]  ->  (2 + 12) / 2 = 7

    Paper: arXiv:2402.14740 (RLOO).
    Differs: nothing.
    """

    def reduction(loss_BT: Tensor, batch: Batch) -> Tensor:
        return masked_sum(loss_BT, batch.mask_BT) / (batch.denominators.rollouts or 1.0)

    return reduction
