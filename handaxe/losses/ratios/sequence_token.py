"""Ratio of a whole rollout, with the gradient of each token.

Kept: GSPO-token, which users expect beside `sequence`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from handaxe.core.batch import Batch, PolicyOut
from handaxe.losses.parts.components import Ratio
from handaxe.losses.ratios.sequence import sequence
from handaxe.ops.masked import masked

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["sequence_token"]


def sequence_token(*, per_row: bool = False, clamp: float = 10.0) -> Ratio:
    """Give every token the value of its rollout's ratio, with the gradient of that token alone.

        log_ratio_t = min(sg[log s_i] + logp_t - sg[logp_t], clamp)         on trained tokens, 0 elsewhere

    sg stops the gradient and log s_i is that of `sequence`. With one advantage for all tokens of a rollout this equals
    `sequence`, in value and gradient; with several, each token follows its own.

    Args:
        per_row: as in `sequence`.
        clamp: nats, > 0; upper bound of the log-ratio, 10 in verl.

    Returns:
        A ratio: (PolicyOut, Batch) -> [B, T] log-ratios; d log_ratio_t / d logp_t = 1 and no other. A rollout without a
        trained token gets zeros.

    Raises:
        InputError: per_row is False and rows of a rollout are missing.

    Example:
        log-ratios 0.1, 0.3, -0.1  ->  value 1.10517 on each token

    Paper: arXiv:2507.18071 (GSPO), section on GSPO-token.
    Differs: the clamp.
    """
    whole = sequence(per_row=per_row)

    def ratio(out: PolicyOut, batch: Batch) -> Tensor:
        value_BT = whole(replace(out, logp_BT=out.logp_BT.detach()), batch)
        logp_BT = masked(out.logp_BT, batch.mask_BT)
        return (value_BT + (logp_BT - logp_BT.detach())).clamp(max=clamp)

    return ratio
