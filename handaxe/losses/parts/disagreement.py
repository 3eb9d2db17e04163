"""How much likelier the trainer found what was sampled than the sampler did: what corrections weigh by."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.losses.parts.pieces import mean_over_turn, sum_over_rollout
from handaxe.ops.masked import masked

__all__ = ["Unit", "check_unit", "disagreement"]

Unit = Literal["token", "turn", "rollout"]


def check_unit(unit: Unit) -> None:
    """Raise InputError for any other word than token, turn or rollout."""
    if unit not in ("token", "turn", "rollout"):
        raise InputError(f"a unit is token, turn or rollout, not {unit!r}")


def disagreement(batch: Batch, unit: Unit) -> Tensor:
    """Log-weights of trained tokens, [B, T], 0 off the mask.

        d_t = old_t - behaviour_t       unit "token": d_t;  "turn": the mean of d over the token's turn;
                                        "rollout": the sum of d over the token's rollout

    Raises:
        InputError: the unit is the rollout, and a rollout's rows are not all here.

    Example:
        d 0.2, 0.4 in one turn and -0.1, 0.3 in the next  ->  0.3, 0.3, 0.1, 0.1 by turn, 0.8 on each by rollout

    Idea: trainers differ in whose probability they weigh by, and in nothing else.
    """
    mask_BT = batch.mask_BT
    apart_BT = masked(batch.old_logp_BT, mask_BT) - masked(batch.behaviour_logp_BT, mask_BT)
    if unit == "turn":
        return mean_over_turn(apart_BT, batch)
    if unit == "rollout":
        return masked(sum_over_rollout(apart_BT, batch)[:, None].expand_as(apart_BT), mask_BT)
    return apart_BT
