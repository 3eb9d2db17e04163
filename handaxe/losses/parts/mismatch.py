"""Log-prob mismatch between trainer and sampler, for corrections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import mean_over_turn, sum_over_rollout
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Unit", "log_mismatch", "validate_unit"]

Unit = Literal["token", "turn", "rollout"]


def validate_unit(unit: Unit) -> None:
    """Raise InputError unless the unit is token, turn or rollout."""
    if unit not in ("token", "turn", "rollout"):
        raise InputError(f"the unit is token, turn or rollout, not {unit!r}")


def log_mismatch(batch: Batch, unit: Unit) -> Tensor:
    """Log-weights of trained tokens, [B, T], 0 off the mask.

        d_t = old_t - behaviour_t       unit "token": d_t;  "turn": the mean of d over the token's turn;
                                        "rollout": the sum of d over the token's rollout

    Raises:
        InputError: the unit is the rollout, and rows of a rollout are missing.

    Example:
        d 0.2, 0.4 in one turn and -0.1, 0.3 in the next  ->  0.3, 0.3, 0.1, 0.1 by turn, 0.8 on each by rollout

    Idea: corrections differ in the unit of the probability, and share the rest.
    """
    mask_BT = batch.mask_BT
    gap_BT = masked(batch.old_logp_BT, mask_BT) - masked(batch.behaviour_logp_BT, mask_BT)
    if unit == "turn":
        return mean_over_turn(gap_BT, batch)
    if unit == "rollout":
        return masked(sum_over_rollout(gap_BT, batch)[:, None].expand_as(gap_BT), mask_BT)
    return gap_BT
