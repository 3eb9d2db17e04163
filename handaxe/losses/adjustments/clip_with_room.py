"""The clipped surrogate, whose upper bound is each task's own."""

from __future__ import annotations

import torch
from torch import Tensor

from handaxe.core.batch import CHANNEL, Batch, PolicyOut
from handaxe.core.errors import InputError
from handaxe.losses.parts.pieces import Adjustment, extra
from handaxe.ops.masked import masked

__all__ = ["clip_with_room"]


def clip_with_room(
    *, eps_low: float = 0.2, eps_high: float = 0.2, wider: float = 0.1, channel: str = "room"
) -> Adjustment:
    """Clip the ratio, with more room above it for tokens that have some.

        loss_t = max(-A_t rho_t, -A_t clip(rho_t, 1 - eps_low, 1 + eps_high + wider room_t))

    Meant for the `unclipped` surrogate, whose loss it takes the place of, and to come first: what adjustments before it
    did is discarded. `adjusted_fraction` then is the share of tokens that are clipped. The room is a channel of the
    advantages, such as `papers.agent0.score_scaled` fills.

    Args:
        eps_low: in [0, 1]; 0.2.
        eps_high: >= 0; 0.2.
        wider: b, by how much the bound of a token with room 1 lies higher, >= 0; 0.1 in the paper.
        channel: the name in `Advantages.channels`; its values are from 0 to 1.

    Returns:
        An adjustment: (loss_BT, log_ratio_BT, PolicyOut, Batch) -> loss_BT.

    Raises:
        InputError: a number out of range; when asked, a batch without the channel.

    Example:
        room 1, 0.6, 0  ->  bounds 1.3, 1.26, 1.2: at A 1 and ratio 1.5 the loss is -1.3, -1.26, -1.2
        A -1 and ratio 0.5  ->  0.8 whatever the room

    Paper: arXiv:2511.16043 (Agent0), ADPO: the ambiguity-modulated clipping.
    Differs: nothing.
    """
    if not 0 <= eps_low <= 1 or eps_high < 0 or wider < 0:
        raise InputError(f"clip_with_room takes eps_low from 0 to 1, others from 0, not {eps_low}, {eps_high}, {wider}")

    def adjust(loss_BT: Tensor, log_ratio_BT: Tensor, out: PolicyOut, batch: Batch) -> Tensor:
        del loss_BT, out
        adv_BT, ratio_BT = masked(batch.adv_BT, batch.mask_BT), log_ratio_BT.exp()
        most_BT = 1 + eps_high + wider * extra(batch, CHANNEL + channel)
        bounded_BT = torch.minimum(ratio_BT.clamp(min=1 - eps_low), most_BT)
        return torch.maximum(-adv_BT * ratio_BT, -adv_BT * bounded_BT)

    return adjust
