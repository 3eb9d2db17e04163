"""Clip-Cov: removes the loss of a few tokens that reduce entropy most.

Kept: the standard entropy control by covariance, beside `kl_cov`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.batch import Batch, PolicyOut
from handaxe.core.deferred import torch
from handaxe.losses.parts.components import Adjustment
from handaxe.ops.masked import masked, masked_mean
from handaxe.ops.seeds import generator

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["clip_cov"]


def clip_cov(
    *,
    fraction: float = 2e-4,
    low: float = 1.0,
    high: float = 5.0,
    clip_range: tuple[float, float] | None = None,
    only: str | None = None,
    seed: int = 0,
) -> Adjustment:
    """Zero the loss of random tokens with a high covariance of advantage and log-prob.

        cov_t = (A_t - mean A) (logp_t - mean logp)         means over the trained tokens of the micro-batch
        n = max(1, floor(fraction N)) tokens among those with low < cov_t < high get loss 0, N trained tokens

    With fewer than n such tokens, all of them get loss 0. Statistics are those of the micro-batch, as in the authors'
    code: another split gives another loss.

    Args:
        fraction: of the trained tokens, in [0, 1]; 2e-4.
        low, high: range of covariance of eligible tokens; 1 and 5.
        clip_range: (eps_low, eps_high) leaves out tokens that such a clip has stopped, as the authors' code does; None,
            the paper's formula, does not.
        only: a feature: only tokens with a non-zero value are eligible and count in N, and a batch with a row that
            lacks the feature is unchanged. `papers.spear.self_imitation` marks "replayed" tokens, which train in
            separate batches: SPEAR's paper zeroes 2 % of them with low 1 or 2 and high 40 or 60. None, as in SPEAR's
            released code, means every token.
        seed: of the draw. It is derived from the seed and each row's ids and rollout, independent of the order and
            padding of rows; a second epoch over the same rows draws the same tokens.

    Returns:
        An adjustment: (loss_BT, log_ratio_BT, PolicyOut, Batch) -> loss_BT. Without an eligible token nothing changes.

    Example:
        A 1, -1, 1 and logp -0.1, -2, -3: mean A 1/3, mean logp -1.7, cov 1.0667, 0.4, -0.8667
        ->  only token 0 is eligible and its loss becomes 0

    Paper: arXiv:2505.22617, Clip-Cov; with `only`, arXiv:2509.22601 (SPEAR).
    Differs: nothing.
    """

    def adjust(loss_BT: Tensor, log_ratio_BT: Tensor, out: PolicyOut, batch: Batch) -> Tensor:
        if only is not None and only not in batch.extras:
            return loss_BT
        mask_BT = batch.mask_BT
        chosen_BT = mask_BT if only is None else mask_BT & (masked(batch.extras[only], mask_BT) != 0)
        adv_BT, logp_BT = masked(batch.adv_BT, mask_BT), masked(out.logp_BT, mask_BT).detach()
        cov_BT = (adv_BT - masked_mean(adv_BT, mask_BT)) * (logp_BT - masked_mean(logp_BT, mask_BT))
        eligible_BT = chosen_BT & (cov_BT > low) & (cov_BT < high)
        if clip_range is not None:
            rho_BT = log_ratio_BT.detach().exp()
            up_BT = (adv_BT > 0) & (rho_BT > 1 + clip_range[1])
            eligible_BT = eligible_BT & ~up_BT & ~((adv_BT < 0) & (rho_BT < 1 - clip_range[0]))
        wanted = max(1, int(fraction * int(chosen_BT.sum())))
        count = min(wanted, int(eligible_BT.sum()))
        if count == 0:
            return loss_BT
        draw_BT = torch.where(eligible_BT, _draw(batch, seed).to(loss_BT.device), 2.0)
        chosen = draw_BT.flatten().topk(count, largest=False).indices
        silent_BT = torch.zeros_like(mask_BT).flatten().index_fill(0, chosen, True).view_as(mask_BT)
        return masked(loss_BT, ~silent_BT)

    return adjust


def _draw(batch: Batch, seed: int) -> Tensor:
    """[B, T] float64 on the CPU, uniform in [0, 1): the draws of a row are a function of the row."""
    draw_BT = np.ones(tuple(batch.ids_BT.shape))
    attend_BT, rollouts = batch.attend_BT.cpu().numpy(), batch.rollout_B.tolist()
    for row, ids in enumerate(batch.ids_BT.cpu().numpy()):
        real = ids[attend_BT[row]]
        rng = generator(seed, "clip_cov", rollouts[row], real.tobytes().hex())
        draw_BT[row, attend_BT[row]] = rng.random(len(real))
    return torch.from_numpy(draw_BT)
