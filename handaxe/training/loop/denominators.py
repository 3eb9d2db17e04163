"""Denominators of a loss over a whole optimiser step, counted in one place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from handaxe.core.batch import CHANNEL, Batch, Denominators
from handaxe.core.deferred import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["add_denominators"]


def add_denominators(batch: Batch) -> Batch:
    """Return the batch with denominators, and with the token and turn counts of each row's whole rollout.

    Only tokens of `mask_BT` count; a rollout, turn or group counts if it holds such a token. Call it on all rows of an
    optimiser step: micro-batches keep the denominators of the whole. An additional advantage is counted over the
    rollouts with a nonzero value of it.

    Example:
        rollouts of trained tokens (turn 0: 2, turn 1: 1) and (turn 0: 1), one group, advantages 1 and -1
        -> tokens 4, rollouts 2, turns 3, groups 1, positive 3; rollout_tokens_B 3, 1; rollout_turns_B 2, 1
    """
    mask_BT, rollout_B = batch.mask_BT.cpu(), batch.rollout_B.cpu()
    rollouts, index_B = rollout_B.unique(return_inverse=True)
    turns_of = _turns(batch, mask_BT, index_B, len(rollouts))
    tokens_of = torch.zeros(len(rollouts), dtype=torch.long).index_add(0, index_B, mask_BT.sum(1))
    channels = {}
    for name, adv_BT in batch.extras.items():
        if name.startswith(CHANNEL):
            said_BT = mask_BT & (adv_BT.cpu() != 0)
            among_B = torch.isin(index_B, index_B[said_BT.any(1)])
            channels[name] = _counted(batch, mask_BT & among_B[:, None], adv_BT)
    return replace(
        batch,
        denominators=_counted(batch, mask_BT, batch.adv_BT),
        rollout_tokens_B=tokens_of[index_B].to(batch.rollout_tokens_B),
        rollout_turns_B=turns_of[index_B].to(batch.rollout_turns_B),
        channels=channels,
    )


def _counted(batch: Batch, mask_BT: Tensor, adv_BT: Tensor) -> Denominators:
    rollout_B, trained_B = batch.rollout_B.cpu(), mask_BT.any(1)
    rollouts, index_B = rollout_B.unique(return_inverse=True)
    return Denominators(
        tokens=float(mask_BT.sum()),
        rollouts=float(len(rollout_B[trained_B].unique())),
        turns=float(_turns(batch, mask_BT, index_B, len(rollouts)).sum()),
        groups=float(len(batch.group_B.cpu()[trained_B].unique())),
        positive=float((mask_BT & (adv_BT.cpu() > 0)).sum()),
    )


def _turns(batch: Batch, mask_BT: Tensor, index_B: Tensor, rollouts: int) -> Tensor:
    """Number of turns with a token of the mask, by rollout."""
    # One row per trained token, equal within a turn of a rollout: distinct rows are the turns.
    place_BT = index_B[:, None].expand_as(mask_BT)
    turns = torch.stack([place_BT, batch.turn_BT.cpu()], -1)[mask_BT].unique(dim=0)
    return turns[:, 0].bincount(minlength=rollouts)
