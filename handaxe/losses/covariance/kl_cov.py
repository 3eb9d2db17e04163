"""KL-Cov: penalizes the movement of the tokens that reduce entropy most.

Kept: the variant of Clip-Cov that users expect beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import Batch, PolicyOut
from handaxe.core.deferred import torch
from handaxe.losses.parts.components import Adjustment
from handaxe.ops.masked import masked, masked_mean

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["kl_cov"]


def kl_cov(*, fraction: float = 2e-3, coefficient: float = 1.0) -> Adjustment:
    """Penalize the movement of the tokens with the highest covariance of advantage and log-prob.

        cov_t = (A_t - mean A) (logp_t - mean logp)         means over the trained tokens of the micro-batch
        loss_t += coefficient |log_ratio_t|                 for the max(1, floor(fraction N)) tokens of largest cov_t

    N is the number of trained tokens. Statistics are those of the micro-batch, as in the authors' code: another split
    gives another loss. For the `unclipped` surrogate and the `token` ratio.

    Args:
        fraction: of the trained tokens, in [0, 1]; 2e-3 for 7B, 2e-4 for 32B.
        coefficient: of the penalty, per nat; 1.

    Returns:
        An adjustment: (loss_BT, log_ratio_BT, PolicyOut, Batch) -> loss_BT. Without a trained token nothing changes. At
        log_ratio 0, the first step on a batch, the penalty and its gradient are 0.

    Example:
        A 1, -1, 1, logp -0.1, -2, -3, old -0.3, -2, -3: cov 1.0667, 0.4, -0.8667  ->  token 0 pays |0.2| more

    Paper: arXiv:2505.22617, KL-Cov.
    Differs: nothing.
    """

    def adjust(loss_BT: Tensor, log_ratio_BT: Tensor, out: PolicyOut, batch: Batch) -> Tensor:
        mask_BT = batch.mask_BT
        tokens = int(mask_BT.sum())
        if tokens == 0:
            return loss_BT
        adv_BT, logp_BT = masked(batch.adv_BT, mask_BT), masked(out.logp_BT, mask_BT).detach()
        cov_BT = (adv_BT - masked_mean(adv_BT, mask_BT)) * (logp_BT - masked_mean(logp_BT, mask_BT))
        cov_BT = torch.where(mask_BT, cov_BT, -torch.inf)
        chosen = cov_BT.flatten().topk(max(1, int(fraction * tokens))).indices
        held_BT = torch.zeros_like(mask_BT).flatten().index_fill(0, chosen, True).view_as(mask_BT)
        return loss_BT + coefficient * masked(log_ratio_BT.abs(), held_BT)

    return adjust
