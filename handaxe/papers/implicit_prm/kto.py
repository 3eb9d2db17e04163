"""Fits a log-ratio to correctness by a bounded value, relative to an anchor."""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.components import extra, sum_over_rollout
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked, sum_by_key

__all__ = ["kto"]


def kto(*, beta: float = 0.05, right: float = 1.0, wrong: float = 1.0) -> Loss:
    """Raise correct rollouts above an anchor and wrong ones below, with a slope that falls far from it.

        r_i = beta sum_t (logp_t - ref_t),   z = beta anchor
        L   = mean over rollouts of right (1 - sigmoid(r_i - z)) if correct, wrong (1 - sigmoid(z - r_i)) if not

    Rollouts, labels and ref_t as in `losses.outcome_cross_entropy`; anchor, in nats and 0 or more, is
    `batch.extras["anchor"]`, and a constant.

    Args:
        beta: > 0, per nat.
        right, wrong: weights of correct and of wrong rollouts, >= 0.

    Returns:
        A loss: (PolicyOut, Batch) -> LossOut with metrics loss, accuracy (share of rollouts with r - z on the side of
        the label) and anchor (z, weighted by the rollouts of a micro-batch).

    Raises:
        InputError: beta of 0 or less, or a negative weight; the batch has no ref_logp or anchor.

    Example:
        log-ratios that sum to 3, anchor 1, beta 0.05: r - z 0.1  ->  1 - 0.52498 = 0.47502 if correct, 0.52498 if wrong

    Paper: arXiv:2412.01981 (implicit PRM), after arXiv:2402.01306 (KTO), by the released code.
    Differs: the anchor is of the batch's own rollouts, as in the released loss for even sampling; the other released
        loss takes responses to other prompts.
    """
    if not beta > 0 or min(right, wrong) < 0:
        raise InputError(f"give a beta above 0 and weights from 0, not {beta}, {right} and {wrong}")

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        mask_BT = batch.mask_BT
        reward_B = beta * sum_over_rollout(masked(out.logp_BT, mask_BT) - extra(batch, "ref_logp"), batch)
        right_B = sum_over_rollout(batch.adv_BT, batch) > 0
        anchor = beta * extra(batch, "anchor").max().detach()
        live_B = mask_BT.any(1)
        rows_B = sum_by_key(live_B.to(reward_B.dtype), batch.rollout_B).clamp(min=1)
        share_B = masked(1 / rows_B, live_B) / (batch.denominators.rollouts or 1.0)
        signed_B = (reward_B - anchor).where(right_B, anchor - reward_B)
        weight_B = share_B * torch.where(right_B, right, wrong)
        value = (weight_B * torch.sigmoid(-signed_B)).sum()
        metrics = {"loss": value, "accuracy": (share_B * (signed_B > 0)).sum(), "anchor": (share_B * anchor).sum()}
        return LossOut(value, floats(metrics))

    return loss
