"""Learn how probable it is that a rollout is right, from outcomes alone."""

from __future__ import annotations

from torch.nn.functional import logsigmoid

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.protocols import Loss
from handaxe.losses.parts.metrics import floats
from handaxe.losses.parts.pieces import extra, sum_over_rollout
from handaxe.ops.masked import masked, sum_by

__all__ = ["outcome_cross_entropy"]


def outcome_cross_entropy(*, beta: float = 0.05) -> Loss:
    """Fit the log-ratio of a whole rollout to whether it was right.

        r_i = beta sum_t (logp_t - ref_t)
        L   = mean over rollouts of -l_i log sigmoid(r_i) - (1 - l_i) log sigmoid(-r_i)

    The sum goes over the trained tokens of rollout i, in all of its rows; ref_t is `batch.extras["ref_logp"]`. l_i is 1
    where the advantages of these tokens sum to more than 0, else 0. The model and its reference then are a reward model
    whose r adds up over tokens, so that every prefix and every step has one too. A rollout stays in one micro-batch.

    Args:
        beta: > 0, per nat; 0.05 in the paper.

    Returns:
        A loss: (PolicyOut, Batch) -> LossOut with metrics loss, accuracy (share of rollouts with r on the side of their
        label; r = 0 is on neither) and margin (mean of r where right and -r where wrong).
        A rollout without a trained token is left out.

    Raises:
        InputError: the batch has no ref_logp, or a row of a rollout is in another micro-batch.

    Example:
        log-ratios that sum to 3, beta 0.05: r 0.15, sigmoid 0.53743  ->  L 0.62096 where right, 0.77096 where wrong

    Paper: arXiv:2412.01981, cross-entropy form.
    Differs: nothing.
    """

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        mask_BT = batch.mask_BT
        reward_B = beta * sum_over_rollout(masked(out.logp_BT, mask_BT) - extra(batch, "ref_logp"), batch)
        right_B = sum_over_rollout(batch.adv_BT, batch) > 0
        live_B = mask_BT.any(1)
        # A rollout of several rows holds its reward on each of them, so each row carries its share of one rollout.
        rows_B = sum_by(live_B.to(reward_B.dtype), batch.rollout_B).clamp(min=1)
        weight_B = masked(1 / rows_B, live_B) / (batch.denominators.rollouts or 1.0)
        signed_B = reward_B.where(right_B, -reward_B)
        value = -(weight_B * logsigmoid(signed_B)).sum()
        metrics = {
            "loss": value,
            "accuracy": (weight_B * (signed_B > 0)).sum(),
            "margin": (weight_B * signed_B).sum(),
        }
        return LossOut(value, floats(metrics))

    return loss
