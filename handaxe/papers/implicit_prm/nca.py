"""Fits log-ratios of pairs by noise contrast: the chosen rollout alone, and both against noise."""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.components import extra, sum_over_rollout
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked, sum_by_key

__all__ = ["nca"]


def nca(*, beta: float = 0.05) -> Loss:
    """Raise the log-ratio of the chosen rollout above 0, and lower that of the rejected one.

        r = beta sum_t (logp_t - ref_t)
        L = mean over pairs of -log sigmoid(r_w) - (log sigmoid(-r_w) + log sigmoid(-r_l)) / 2

    Unlike DPO it bounds each log-ratio by itself, so that the chosen one does not fall with the rejected one. Pairs and
    ref_t as in `losses.dpo`; the two sides need not share a micro-batch.

    Args:
        beta: > 0, per nat.

    Returns:
        A loss: (PolicyOut, Batch) -> LossOut with metrics loss, and chosen_reward and rejected_reward (mean r_w and r_l
        over pairs).

    Raises:
        InputError: beta of 0 or less; the batch has no ref_logp.

    Example:
        r_w 0.15, r_l -0.05: 0.62096 + (0.77096 + 0.66846) / 2 = 1.34067

    Paper: arXiv:2412.01981 (implicit PRM), after arXiv:2402.05369 (NCA), of two responses.
    Differs: nothing known; the released code has no NCA.
    Unconfirmed: the form for two responses, which is from memory.
    """
    if not beta > 0:
        raise InputError(f"beta is {beta}; give more than 0")

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        mask_BT = batch.mask_BT
        reward_B = beta * sum_over_rollout(masked(out.logp_BT, mask_BT) - extra(batch, "ref_logp"), batch)
        live_B = mask_BT.any(1)
        rows_B = sum_by_key(live_B.to(reward_B.dtype), batch.rollout_B).clamp(min=1)
        share_B = masked(1 / rows_B, live_B) / ((batch.denominators.rollouts or 2.0) / 2)
        chosen_B = batch.rollout_B % 2 == 0
        log_sigmoid = torch.nn.functional.logsigmoid
        value = -(share_B * (masked(log_sigmoid(reward_B), chosen_B) + log_sigmoid(-reward_B) / 2)).sum()
        metrics = {
            "loss": value,
            "chosen_reward": (masked(share_B, chosen_B) * reward_B).sum(),
            "rejected_reward": (masked(share_B, ~chosen_B) * reward_B).sum(),
        }
        return LossOut(value, floats(metrics))

    return loss
