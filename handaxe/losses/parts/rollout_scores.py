"""Scores of a head by rollout and by pair, for losses that compare rollouts.

Legend: R rollouts of a micro-batch in ascending order, P pairs, K outputs.

Idea: a score is read where tokens train, so the mask of the batch chooses the places.

Example:
    rollouts 0 to 3 with scores 1, 0.5, 2 and 0: chosen 1 and 2, rejected 0.5 and 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from handaxe.core.batch import Batch, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import check_whole_rollouts
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["PairScores", "head_scores", "pair_metrics", "pair_scores", "rollout_mean"]

STRENGTH = "strength"
"""Extra of the batch with the strength of a pair, at the trained tokens of both sides."""


class PairScores(NamedTuple):
    """Scores of the sides of P pairs, and the divisor of a mean over the pairs of the optimiser step.

    strength_P is 0 for a tie; 1 if the batch has no strengths.
    """

    chosen_PK: Tensor
    rejected_PK: Tensor
    strength_P: Tensor
    pairs: float

    @property
    def margin_PK(self) -> Tensor:
        """chosen - rejected."""
        return self.chosen_PK - self.rejected_PK


def head_scores(out: PolicyOut, head: str) -> Tensor:
    """[B, T, K] scores of a head.

    Raises:
        InputError: the engine has no such head.
    """
    if head not in out.heads:
        there = ", ".join(out.heads) or "none"
        raise InputError(
            f"this loss reads the head {head!r}, and the engine has {there}: give it heads={{{head!r}: Head()}}"
        )
    return out.heads[head]


def rollout_mean(x_BTK: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Mean over the trained tokens of each rollout, in all its rows; the mask is where a score is read.

    Args:
        x_BTK: [B, T] or [B, T, K].
        batch: rollouts without a trained token are left out.

    Returns:
        [R, K] (K = 1 for [B, T]) and the rollouts' indices [R] in ascending order.

    Raises:
        InputError: a row of a rollout is in another micro-batch.
    """
    check_whole_rollouts(batch)
    x_BTK = x_BTK if x_BTK.ndim == 3 else x_BTK[..., None]
    mask_BT = batch.mask_BT
    live_B = mask_BT.any(1)
    rollout_R, place_B = batch.rollout_B[live_B].unique(return_inverse=True)
    sum_BK = masked(x_BTK, mask_BT[..., None]).sum(1)[live_B]
    count_B = mask_BT.sum(1)[live_B].to(sum_BK.dtype)
    same_RB = (torch.arange(len(rollout_R), device=place_B.device)[:, None] == place_B[None, :]).to(sum_BK.dtype)
    return (same_RB @ sum_BK) / (same_RB @ count_B)[:, None], rollout_R


def pair_scores(out: PolicyOut, batch: Batch, head: str) -> PairScores:
    """Scores of pairs: rollout 2k is chosen and rollout 2k + 1 is rejected, as in `losses.dpo`.

    Raises:
        InputError: no such head, or a side of a pair is missing from the micro-batch.
    """
    score_RK, rollout_R = rollout_mean(head_scores(out, head), batch)
    chosen_R = rollout_R % 2 == 0
    if not torch.equal(rollout_R[chosen_R] + 1, rollout_R[~chosen_R]):
        pair_R = rollout_R // 2
        lone = [int(one) for one in pair_R.unique() if int((pair_R == one).sum()) != 2]
        raise InputError(
            f"pairs {lone[:8]} have one side only; rollouts 2k (chosen) and 2k + 1 (rejected) must be in the same "
            "micro-batch and must both have tokens to read"
        )
    strength_P = torch.ones_like(score_RK[chosen_R][:, 0])
    if STRENGTH in batch.extras:
        strength_P = rollout_mean(batch.extras[STRENGTH].to(score_RK.dtype), batch)[0][chosen_R][:, 0]
    pairs = (batch.denominators.rollouts or 2.0) / 2
    return PairScores(score_RK[chosen_R], score_RK[~chosen_R], strength_P, pairs)


def pair_metrics(margin_PK: Tensor, strict_P1: Tensor, pairs: float) -> dict[str, Tensor]:
    """accuracy and margin of pairs without ties, and the share of ties; summands of means over the optimiser step."""
    return {
        "accuracy": (strict_P1 * (margin_PK > 0)).mean(1).sum() / pairs,
        "margin": (strict_P1 * margin_PK).mean(1).sum() / pairs,
        "ties": (1 - strict_P1).sum() / pairs,
    }
