"""Ratio of a whole turn, on each of its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import Batch, PolicyOut
from handaxe.losses.parts.components import Ratio, mean_over_turn, sum_over_turn
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["turn"]


def turn(*, mean: bool = True, clamp: float = 20.0) -> Ratio:
    """Give every token of a turn the same ratio: the geometric mean over the turn, or the product.

        log rho_k = (1 / |c_k|) sum_{t in c_k} (logp_t - old_t)     c_k: the trained tokens of turn k
        log rho_k = sum_{t in c_k} (logp_t - old_t)                 mean=False: ratio of the whole turn's probability
        log_ratio_t = clip(log rho_k(t), -clamp, clamp)             on trained tokens, 0 elsewhere

    No product spans two turns, and a tool's reply enters neither the sum nor |c_k|. The gradient reaches every trained
    token of the turn.

    Args:
        mean: False multiplies the ratios of the turn's tokens.
        clamp: nats, > 0; a guard against overflow.

    Returns:
        A ratio: (PolicyOut, Batch) -> [B, T] log-ratios, with gradient. A turn lies in one row, so rows may go to any
        micro-batch. A row without a trained token gets zeros.

    Example:
        turns of log-ratios 0.2, 0.4 and -0.1, 0.3  ->  exp(0.3) = 1.34986 and exp(0.1) = 1.10517, each on both tokens
        mean=False  ->  exp(0.6) = 1.82212 and exp(0.2) = 1.22140

    Paper: arXiv:2512.24873 (ROME), the chunk-level ratio of IPA; mean=False is LOOP's variant with one ratio a turn,
    arXiv:2502.01600.
    Differs: the clamp.
    """

    def ratio(out: PolicyOut, batch: Batch) -> Tensor:
        moved_BT = masked(out.logp_BT, batch.mask_BT) - masked(batch.old_logp_BT, batch.mask_BT)
        over = mean_over_turn if mean else sum_over_turn
        return over(moved_BT, batch).clamp(-clamp, clamp)

    return ratio
