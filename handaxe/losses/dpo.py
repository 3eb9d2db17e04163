"""Direct preference optimization on pairs of rollouts."""

from __future__ import annotations

from typing import Literal

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.components import extra, sum_over_rollout
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked, sum_by_key

__all__ = ["dpo"]


def dpo(*, beta: float = 0.1, steps: Literal["sum", "mean"] = "sum") -> Loss:
    """Prefer the chosen rollout of each pair by more than the reference does.

        L = mean over pairs of -log sigmoid(beta ((logp_w - ref_w) - (logp_l - ref_l)))

    logp_w and logp_l are sums over the trained tokens of the chosen and of the rejected rollout (all rows of each),
    ref_w and ref_l the same sums of `batch.extras["ref_logp"]`.

    Pairs in a batch: rollout 2k (by `batch.rollout_B`) is chosen and rollout 2k + 1 is rejected. So a batch of one-row
    rollouts holds chosen on rows 2k and rejected on rows 2k + 1, with rollout_B = 0, 1, 2, ... The number of pairs is
    half of `batch.denominators.rollouts`. A pair must stay in one micro-batch; rows may have any order.

    Args:
        beta: > 0, per nat; 0.1 (0.1 to 0.5 in the paper). A small beta lets the policy move further from the reference.
        steps: "mean" divides the sums of a rollout by the number of its turns, as iStar's released code does.

    Returns:
        A loss: (PolicyOut, Batch) -> LossOut with metrics loss, accuracy (share of pairs with a positive margin),
        margin, chosen_reward and rejected_reward (beta (logp - ref), means over pairs). A pair without a trained token
        on either side is left out.

    Raises:
        InputError: `steps` is another word; the batch has no ref_logp; one side of a pair or a row of a rollout is
            missing.

    Example:
        logp_w -10, ref_w -12, logp_l -20, ref_l -18, beta 0.1  ->  margin 0.4, L 0.51302,
        d L / d logp_w = -0.1 sigmoid(-0.4) = -0.0401312
        turns with logp - ref of 2, 4 against -2, 0; steps mean, beta 0.05  ->  rewards 0.15 and -0.05, L 0.5981

    Paper: arXiv:2305.18290, Eq. (7); with beta 0.05 of whole rollouts arXiv:2509.19199 (iStar).
    Differs: nothing.
    """
    if steps not in ("sum", "mean"):
        raise InputError(f"dpo takes steps sum or mean, not {steps!r}")

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        mask_BT = batch.mask_BT
        reward_B = beta * sum_over_rollout(masked(out.logp_BT, mask_BT) - extra(batch, "ref_logp"), batch)
        if steps == "mean":
            reward_B = reward_B / batch.rollout_turns_B.clamp(min=1)
        live_B = mask_BT.any(1)
        chosen_B = batch.rollout_B % 2 == 0
        pair_B = batch.rollout_B // 2
        # A rollout of several rows has its reward on each row, so each row has a share of the rollout.
        share_B = masked(1 / sum_by_key(live_B.to(reward_B.dtype), batch.rollout_B).clamp(min=1), live_B)
        sides_B = sum_by_key(share_B, pair_B).round()
        if bool((sides_B[live_B] != 2).any()):
            lone = torch.unique(pair_B[live_B & (sides_B != 2)]).tolist()
            raise InputError(
                f"pairs {lone[:8]} have one side only; rollouts 2k (chosen) and 2k + 1 (rejected) must be in the same "
                "micro-batch and must both have tokens to train"
            )
        margin_B = sum_by_key(torch.where(chosen_B, share_B, -share_B) * reward_B, pair_B)
        pairs = (batch.denominators.rollouts or 2.0) / 2
        weight_B = masked(share_B, chosen_B) / pairs
        value = -(weight_B * torch.nn.functional.logsigmoid(margin_B)).sum()
        metrics = {
            "loss": value,
            "accuracy": (weight_B * (margin_B > 0)).sum(),
            "margin": (weight_B * margin_B).sum(),
            "chosen_reward": (weight_B * reward_B).sum(),
            "rejected_reward": (masked(share_B, ~chosen_B) / pairs * reward_B).sum(),
        }
        return LossOut(value, floats(metrics))

    return loss
