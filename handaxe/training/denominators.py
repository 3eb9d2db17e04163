"""What a loss divides by: counted here and nowhere else, over a whole optimiser step."""

from dataclasses import replace

import torch

from handaxe.tensors import Batch, Denominators

__all__ = ["with_denominators"]


def with_denominators(batch: Batch) -> Batch:
    """The batch with its denominators, and with tokens and turns of each row's rollout, over all of its rows.

    Only tokens of `mask_BT` count; a rollout, turn or group does where it holds one. Call it on all rows of an
    optimiser step: micro-batches keep the denominators of the whole.

    Example:
        rollouts of trained tokens (turn 0: 2, turn 1: 1) and (turn 0: 1), one group, advantages 1 and -1
        -> tokens 4, rollouts 2, turns 3, groups 1, positive 3; rollout_tokens_B 3, 1; rollout_turns_B 2, 1
    """
    mask_BT, rollout_B = batch.mask_BT.cpu(), batch.rollout_B.cpu()
    tokens_B = mask_BT.sum(1)
    rollouts, index_B = rollout_B.unique(return_inverse=True)
    # One line for every trained token, equal within a turn of a rollout: the distinct lines are the turns.
    place_BT = index_B[:, None].expand_as(mask_BT)
    turns = torch.stack([place_BT, batch.turn_BT.cpu()], -1)[mask_BT].unique(dim=0)
    tokens_of = torch.zeros(len(rollouts), dtype=torch.long).index_add(0, index_B, tokens_B)
    turns_of = turns[:, 0].bincount(minlength=len(rollouts))
    denominators = Denominators(
        tokens=float(tokens_B.sum()),
        rollouts=float((tokens_of > 0).sum()),
        turns=float(len(turns)),
        groups=float(len(batch.group_B.cpu()[tokens_B > 0].unique())),
        positive=float((mask_BT & (batch.adv_BT.cpu() > 0)).sum()),
    )
    return replace(
        batch,
        denominators=denominators,
        rollout_tokens_B=tokens_of[index_B].to(batch.rollout_tokens_B),
        rollout_turns_B=turns_of[index_B].to(batch.rollout_turns_B),
    )
