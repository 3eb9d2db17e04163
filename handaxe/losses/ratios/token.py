"""Ratio of single tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handaxe.core.batch import Batch, PolicyOut
from handaxe.losses.parts.components import Ratio
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["token"]


def token(*, clamp: float = 20.0) -> Ratio:
    """Compare each token's log-prob with the old one.

        log_ratio_t = clip(logp_t - old_t, -clamp, clamp)       on trained tokens
        log_ratio_t = 0                                         elsewhere

    logp_t is under the policy in training, old_t is `batch.old_logp_BT`.

    Args:
        clamp: nats, > 0. It keeps exp() from overflow; a token beyond it has no gradient.

    Returns:
        A ratio: (PolicyOut, Batch) -> [B, T] log-ratios, with gradient. A row without a trained token gets zeros.

    Example:
        logp -0.5, old -1  ->  log-ratio 0.5, ratio 1.64872

    Paper: arXiv:1707.06347, the probability ratio r_t.
    Differs: the clamp, which at 20 nats is a guard against overflow.
    """

    def ratio(out: PolicyOut, batch: Batch) -> Tensor:
        mask_BT = batch.mask_BT
        return (masked(out.logp_BT, mask_BT) - masked(batch.old_logp_BT, mask_BT)).clamp(-clamp, clamp)

    return ratio
