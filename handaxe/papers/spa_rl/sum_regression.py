"""Regression of outcomes on the sum of turn contributions."""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.components import ends_turn, extra, sum_over_rollout
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked, sum_by_key

__all__ = ["sum_regression"]


def sum_regression() -> Loss:
    """Fit the values at the ends of a rollout's turns to sum to the outcome.

        c_k = V at the last trained token of turn k
        L   = mean over rollouts of (sum_k c_k - R_i)^2

    The sum is over the turns of rollout i, in all of its rows; R_i is the mean of `batch.extras["returns"]` on its
    trained tokens. V_t is the critic's value before token t, so that a turn is read without its last token, which ends
    it. After training c_k is the contribution of turn k. A rollout stays in one micro-batch.

    Returns:
        A loss: (PolicyOut, Batch) -> LossOut with metrics loss and predicted (mean over rollouts of sum_k c_k); no
        gradient reaches a log-prob. A rollout without a trained token is left out.

    Raises:
        InputError: the engine has no critic, the batch has no returns, or a row of a rollout is in another micro-batch.

    Example:
        c 0.1, 0.5, 0.4 and R 1  ->  L 0
        c 0.2, 0.2 and R 1  ->  L 0.36, d L / d c_k = -1.2

    Paper: arXiv:2505.20732 (SPA-RL), the loss of the progress estimator.
    Unconfirmed: the formula, known from secondary sources and the released code.
    Differs: the released estimator has a linear layer on the logits and reads it after the turn's last token.
    """

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        if out.value_BT is None:
            raise InputError("sum_regression needs an engine with a critic, but this one returned no values")
        total_B = sum_over_rollout(masked(out.value_BT, ends_turn(batch)), batch)
        target_B = sum_over_rollout(extra(batch, "returns"), batch) / batch.rollout_tokens_B.clamp(min=1)
        # A rollout of several rows holds its numbers on each of them, so each row carries its share of one rollout.
        live_B = batch.mask_BT.any(1)
        rows_B = sum_by_key(live_B.to(total_B.dtype), batch.rollout_B).clamp(min=1)
        weight_B = masked(1 / rows_B, live_B) / (batch.denominators.rollouts or 1.0)
        value = (weight_B * torch.square(total_B - target_B)).sum()
        return LossOut(value, floats({"loss": value, "predicted": (weight_B * total_B).sum()}))

    return loss
