"""Drops rollouts with a large mismatch per token between sampler and trainer.

Kept: the geometric rejection of verl's rollout correction, which users combine with `tis` by `stacked`.
"""

from __future__ import annotations

from handaxe.core.batch import Batch
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Correction, Weights, sum_over_rollout
from handaxe.ops.masked import masked

__all__ = ["geometric_veto"]


def geometric_veto(*, cap: float = 1.001, floor: float | None = None) -> Correction:
    """Keep a rollout only if the geometric mean of its tokens' weights is close to 1.

        g_i = exp((1 / |y_i|) sum_t (old_t - behaviour_t))          over the trained tokens of rollout i
        w_t = 1 if floor <= g_i <= cap, else 0

    Symbols as in `tis`. Unlike the product of the weights, g_i does not drift away from 1 with length. It only masks;
    combine it with `tis` through `stacked`. A dropped rollout still counts in the denominators.

    Args:
        cap: >= 1; 1.0002 to 1.001 between two engines with the same weights.
        floor: in [0, 1]; None for 1 / cap.

    Returns:
        A correction: Batch -> Weights of [B, T], 0 off the mask. correction_cut is the share of dropped tokens.

    Raises:
        InputError: bounds that do not enclose 1, or missing rows of a rollout.

    Example:
        old - behaviour 0.3, -0.1 with cap 1.2  ->  g = exp(0.1) = 1.10517, kept; with cap 1.1, dropped

    Paper: Liu and Li 2025, "When Speed Kills Stability", as released in verl (rollout correction, geometric).
    Differs: verl removes dropped rollouts from the denominators too.
    """
    low = 1 / cap if floor is None else floor
    if not 0 <= low <= 1 <= cap:
        raise InputError(f"the bounds must enclose 1, but floor is {low} and cap {cap}")

    def correction(batch: Batch) -> Weights:
        mask_BT = batch.mask_BT
        gap_BT = masked(batch.old_logp_BT, mask_BT) - masked(batch.behaviour_logp_BT, mask_BT)
        mean_B = (sum_over_rollout(gap_BT, batch) / batch.rollout_tokens_B.clamp(min=1)).exp()
        ones_BT = masked(torch.ones_like(batch.old_logp_BT), mask_BT)
        return Weights(masked(ones_BT, ((mean_B >= low) & (mean_B <= cap))[:, None]), ones_BT)

    return correction
