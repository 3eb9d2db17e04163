"""Clipped surrogate with an upper bound for each token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import CHANNEL, Batch, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Adjustment, extra
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["widened_clip"]


def widened_clip(
    *, eps_low: float = 0.2, eps_high: float = 0.2, widening: float = 0.1, channel: str = "room"
) -> Adjustment:
    """Clip the ratio, with an upper bound raised by a channel of the advantages.

        loss_t = max(-A_t rho_t, -A_t clip(rho_t, 1 - eps_low, 1 + eps_high + widening room_t))

    For the `unclipped` surrogate: it replaces its loss, so it comes first, and the effect of earlier adjustments is
    lost. `adjusted_fraction` then is the share of clipped tokens. `papers.agent0.score_scaled` fills such a channel.

    Args:
        eps_low: in [0, 1]; 0.2.
        eps_high: >= 0; 0.2.
        widening: b, increase of the bound for a token with room 1, >= 0; 0.1 in the paper.
        channel: name in `Advantages.channels`; its values are from 0 to 1.

    Returns:
        An adjustment: (loss_BT, log_ratio_BT, PolicyOut, Batch) -> loss_BT.

    Raises:
        InputError: a number out of range; at a call, a batch without the channel.

    Example:
        room 1, 0.6, 0  ->  bounds 1.3, 1.26, 1.2: at A 1 and ratio 1.5 the loss is -1.3, -1.26, -1.2
        A -1 and ratio 0.5  ->  0.8 at any room

    Paper: arXiv:2511.16043 (Agent0), ADPO: the ambiguity-modulated clipping.
    Differs: nothing.
    """
    if not 0 <= eps_low <= 1 or eps_high < 0 or widening < 0:
        raise InputError(
            f"widened_clip takes eps_low in [0, 1], eps_high and widening from 0, not {eps_low}, {eps_high}, {widening}"
        )

    def adjust(loss_BT: Tensor, log_ratio_BT: Tensor, out: PolicyOut, batch: Batch) -> Tensor:
        del loss_BT, out
        adv_BT, ratio_BT = masked(batch.adv_BT, batch.mask_BT), log_ratio_BT.exp()
        bound_BT = 1 + eps_high + widening * extra(batch, CHANNEL + channel)
        bounded_BT = torch.minimum(ratio_BT.clamp(min=1 - eps_low), bound_BT)
        return torch.maximum(-adv_BT * ratio_BT, -adv_BT * bounded_BT)

    return adjust
