"""Ratio of a whole rollout, on each of its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import Batch, PolicyOut
from handaxe.losses.parts.components import Ratio, sum_over_rollout
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["sequence"]


def sequence(*, mean: bool = True, per_row: bool = False, clamp: float = 20.0) -> Ratio:
    """Give every token of a rollout the same ratio: the geometric mean over the rollout, or the product.

        log s_i = (1 / |y_i|) sum_t (logp_t - old_t)        over the trained tokens of rollout i
        log s_i = sum_t (logp_t - old_t)                    mean=False: ratio of the whole rollout's probability
        log_ratio_t = clip(log s_i, -clamp, clamp)          on trained tokens, 0 elsewhere

    Prompt, tool and padding tokens enter neither the sum nor |y_i|. The gradient reaches every trained token of the
    rollout.

    Args:
        mean: False multiplies the tokens' ratios; the ratio of a long rollout then drifts far from 1.
        per_row: True treats each row of a rollout as a unit. False (the paper, with one row a rollout) uses the
            rollout; its rows must then stay in one micro-batch.
        clamp: nats, > 0; a guard against overflow.

    Returns:
        A ratio: (PolicyOut, Batch) -> [B, T] log-ratios, with gradient. A rollout without a trained token gets zeros.

    Raises:
        InputError: per_row is False and rows of a rollout are missing.

    Example:
        log-ratios 0.1, 0.3, -0.1  ->  s = exp(0.1) = 1.10517 on each of the three; mean=False  ->  exp(0.3) = 1.34986

    Paper: arXiv:2507.18071 (GSPO), the sequence-level importance ratio s_i; mean=False is LOOP's variant with one ratio
    a trajectory, arXiv:2502.01600.
    Differs: the clamp, which at 20 nats is a guard against overflow.
    """

    def ratio(out: PolicyOut, batch: Batch) -> Tensor:
        mask_BT = batch.mask_BT
        moved_BT = masked(out.logp_BT, mask_BT) - masked(batch.old_logp_BT, mask_BT)
        if per_row:
            total_B, tokens_B = moved_BT.sum(1), mask_BT.sum(1)
        else:
            total_B, tokens_B = sum_over_rollout(moved_BT, batch), batch.rollout_tokens_B
        value_B = (total_B / tokens_B.clamp(min=1) if mean else total_B).clamp(-clamp, clamp)
        return masked(value_B[:, None].expand_as(moved_BT), mask_BT)

    return ratio
