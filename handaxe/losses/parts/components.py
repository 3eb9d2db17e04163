"""Signatures of loss components, and sums over rollouts and turns of a batch.

    ratio       (PolicyOut, Batch) -> log_ratio_BT           movement of the policy            token, sequence, ...
    surrogate   (log_ratio_BT, adv_BT, logp_BT) -> loss_BT   loss of each token                clip, truncated, ...
    adjustment  (loss_BT, log_ratio_BT, PolicyOut, Batch) -> loss_BT     changes some tokens   clip_cov, ...
    correction  Batch -> Weights                             weights against the sampler       tis, mis, ...
    reduction   (loss_BT, Batch) -> scalar                   aggregation of tokens             token_mean, ...
    term        (PolicyOut, Batch) -> LossOut                further summands                  kl, entropy, value

`losses.policy.policy` composes them. Each is any callable with that signature. Values off `batch.mask_BT` are
arbitrary, so a component passes every tensor of the batch or the policy through `ops.masked.masked` first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.ops.masked import masked, sum_by_key

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "Adjustment",
    "Correction",
    "Estimator",
    "Ratio",
    "Reduction",
    "Surrogate",
    "Term",
    "Weights",
    "check_whole_rollouts",
    "ends_turn",
    "extra",
    "mean_over_turn",
    "sum_over_rollout",
    "sum_over_turn",
]


class Weights(NamedTuple):
    """Factors of a correction on the tokens' losses. Both [B, T], without gradient, 0 off the mask.

    weight_BT  the weight in use
    raw_BT     the weight without the cut; metrics report the difference
    """

    weight_BT: Tensor
    raw_BT: Tensor


Ratio = Callable[[PolicyOut, Batch], "Tensor"]
Surrogate = Callable[["Tensor", "Tensor", "Tensor"], "Tensor"]
Adjustment = Callable[["Tensor", "Tensor", PolicyOut, Batch], "Tensor"]
Correction = Callable[[Batch], Weights]
Reduction = Callable[["Tensor", Batch], "Tensor"]
Term = Callable[[PolicyOut, Batch], LossOut]
Estimator = Callable[["Tensor"], "Tensor"]


def extra(batch: Batch, name: str) -> Tensor:
    """The named [B, T] tensor of `batch.extras`, exactly 0 off the mask.

    Raises:
        InputError: the batch has no such tensor; the message names a way to get it.
    """
    if name not in batch.extras:
        have = ", ".join(sorted(batch.extras)) or "none"
        raise InputError(
            f"this loss needs batch.extras[{name!r}], but the batch has {have}; "
            f'list it in annotate=(...) of train(), or use a credit that computes it (for "returns")'
        )
    return masked(batch.extras[name], batch.mask_BT)


def check_whole_rollouts(batch: Batch) -> None:
    """Raise InputError if a trained row is here without the other rows of its rollout."""
    tokens_B = sum_by_key(batch.mask_BT.sum(1).to(batch.rollout_tokens_B.dtype), batch.rollout_B)
    broken_B = batch.mask_BT.any(1) & (tokens_B != batch.rollout_tokens_B)
    if bool(broken_B.any()):
        missing = torch.unique(batch.rollout_B[broken_B]).tolist()
        raise InputError(
            f"rollouts {missing[:8]} have rows in another micro-batch, but this loss needs whole rollouts; "
            "keep the rows of a rollout together when splitting, or raise micro_batch_rows"
        )


def sum_over_rollout(x_BT: Tensor, batch: Batch) -> Tensor:
    """Sum over the trained tokens of a row's whole rollout, in all its rows.

    Returns:
        [B]; rows of one rollout hold the same number.

    Raises:
        InputError: a trained row is here without the other rows of its rollout, so that the sum would be wrong.
    """
    check_whole_rollouts(batch)
    return sum_by_key(masked(x_BT, batch.mask_BT).sum(1), batch.rollout_B)


def sum_over_turn(x_BT: Tensor, batch: Batch) -> Tensor:
    """Sum over the trained tokens of each token's turn; a turn lies in one row.

    Returns:
        [B, T]; trained tokens of one turn hold the same number, all others 0.
    """
    mask_BT = batch.mask_BT
    turn_BT = torch.where(mask_BT, batch.turn_BT, 0)
    total_BN = x_BT.new_zeros(len(batch), int(turn_BT.max()) + 1).scatter_add(1, turn_BT, masked(x_BT, mask_BT))
    return masked(total_BN.gather(1, turn_BT), mask_BT)


def mean_over_turn(x_BT: Tensor, batch: Batch) -> Tensor:
    """Mean over the trained tokens of each token's turn: [B, T], 0 at untrained tokens."""
    return sum_over_turn(x_BT, batch) / sum_over_turn(torch.ones_like(x_BT), batch).clamp(min=1)


def ends_turn(batch: Batch) -> Tensor:
    """[B, T] bool: the last trained token of each turn."""
    mask_BT = batch.mask_BT
    turn_BT = torch.where(mask_BT, batch.turn_BT, 0)
    place_BT = torch.where(mask_BT, torch.arange(mask_BT.shape[1], device=mask_BT.device), -1)
    last_BN = place_BT.new_full((len(batch), int(turn_BT.max()) + 1), -1).scatter_reduce(1, turn_BT, place_BT, "amax")
    return mask_BT & (last_BN.gather(1, turn_BT) == place_BT)
