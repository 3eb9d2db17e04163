"""Mean over turns with equal weights at any length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import Batch
from handaxe.core.deferred import torch
from handaxe.losses.parts.components import Reduction, sum_over_turn
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["turn_mean"]


def turn_mean(*, per_rollout: bool = False) -> Reduction:
    """Average over the tokens of each turn, then over turns.

        L = (1 / number of turns) sum_{i,k} (1 / |y_ik|) sum_{t in turn k} loss_it
        L = (1 / number of rollouts) sum_i (1 / N_i) sum_k (1 / |y_ik|) sum_{t in turn k} loss_it     per_rollout=True

    |y_ik| counts the trained tokens of turn k, without the tool's reply, and N_i the turns with a trained token of
    rollout i, in all its rows. A turn lies in one row, so its count is known in every micro-batch.

    Args:
        per_rollout: equal weights for rollouts at any number of turns; otherwise rollouts with many turns have more
            weight.

    Returns:
        A reduction: (loss_BT, Batch) -> scalar. 0 without a trained turn.

    Example:
        turns [1, 1] and [2, 2, 2, 2] of one rollout, [6] of another  ->  (1 + 2 + 6) / 3 = 3
        per_rollout=True  ->  ((1 + 2) / 2 + 6) / 2 = 3.75

    Idea: the seq-mean-token-mean of arXiv:2402.03300 with the turn as its unit.
    Differs: nothing.
    """

    def reduction(loss_BT: Tensor, batch: Batch) -> Tensor:
        tokens_BT = sum_over_turn(torch.ones_like(loss_BT), batch)
        share_BT = masked(loss_BT, batch.mask_BT) / tokens_BT.clamp(min=1)
        if per_rollout:
            mean_B = share_BT.sum(1) / batch.rollout_turns_B.clamp(min=1)
            return mean_B.sum() / (batch.denominators.rollouts or 1.0)
        return share_BT.sum() / (batch.denominators.turns or 1.0)

    return reduction
