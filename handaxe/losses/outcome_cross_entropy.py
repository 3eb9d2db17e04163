"""Fits the probability that a rollout is correct, from outcomes alone."""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.protocols import Loss
from handaxe.losses.parts.components import extra, sum_over_rollout
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked, sum_by_key

__all__ = ["outcome_cross_entropy"]


def outcome_cross_entropy(*, beta: float = 0.05) -> Loss:
    """Fit the log-ratio of a whole rollout to its correctness.

        r_i = beta sum_t (logp_t - ref_t)
        L   = mean over rollouts of -l_i log sigmoid(r_i) - (1 - l_i) log sigmoid(-r_i)

    The sum is over the trained tokens of rollout i, in all its rows; ref_t is `batch.extras["ref_logp"]`. l_i is 1 if
    the advantages of these tokens sum to more than 0, else 0. Model and reference then form a reward model whose r is a
    sum over tokens, so that every prefix and every step has a reward. A rollout stays in one micro-batch.

    Args:
        beta: > 0, per nat; 0.05 in the paper.

    Returns:
        A loss: (PolicyOut, Batch) -> LossOut with metrics loss, accuracy (share of rollouts with r on the side of their
        label; r = 0 is on neither) and margin (mean of r for correct and -r for wrong rollouts). A rollout without a
        trained token is left out.

    Raises:
        InputError: the batch has no ref_logp, or a row of a rollout is in another micro-batch.

    Example:
        log-ratios that sum to 3, beta 0.05: r 0.15, sigmoid 0.53743  ->  L 0.62096 if correct, 0.77096 if wrong

    Paper: arXiv:2412.01981, cross-entropy form.
    Differs: nothing.
    """

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        mask_BT = batch.mask_BT
        reward_B = beta * sum_over_rollout(masked(out.logp_BT, mask_BT) - extra(batch, "ref_logp"), batch)
        right_B = sum_over_rollout(batch.adv_BT, batch) > 0
        live_B = mask_BT.any(1)
        # A rollout of several rows has its reward on each row, so each row has a share of the rollout.
        rows_B = sum_by_key(live_B.to(reward_B.dtype), batch.rollout_B).clamp(min=1)
        weight_B = masked(1 / rows_B, live_B) / (batch.denominators.rollouts or 1.0)
        signed_B = reward_B.where(right_B, -reward_B)
        value = -(weight_B * torch.nn.functional.logsigmoid(signed_B)).sum()
        metrics = {
            "loss": value,
            "accuracy": (weight_B * (signed_B > 0)).sum(),
            "margin": (weight_B * signed_B).sum(),
        }
        return LossOut(value, floats(metrics))

    return loss
