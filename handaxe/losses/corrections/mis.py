"""Masked importance sampling: drops tokens, turns or rollouts with a large mismatch.

Kept: a standard correction between sampler and trainer, in addition to `tis`.
"""

from __future__ import annotations

from handaxe.core.batch import Batch
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Correction, Weights
from handaxe.losses.parts.mismatch import Unit, log_mismatch, validate_unit
from handaxe.ops.masked import masked

__all__ = ["mis"]


def mis(
    *, cap: float = 2.0, floor: float | None = None, unit: Unit = "token", weigh: bool = True, clamp: float = 20.0
) -> Correction:
    """Weigh as `tis` does, but mask values out of bounds instead of truncating them.

        v_t = exp(old_t - behaviour_t)      unit "token"; "turn": exp of the mean over the trained tokens of its turn,
                                            "rollout": exp of the sum over those of its rollout
        w_t = v_t           if floor <= v_t <= cap       (1 there if weigh is False)
        w_t = 0             elsewhere

    Symbols as in `tis`. A dropped token has loss 0 and still counts in the denominators, which are those of the whole
    step. No gradient flows through the weight.

    Args:
        cap: >= 1; 1.2 per turn in the configuration released with ROME.
        floor: in [0, 1]; None for 1 / cap, 0 for no lower bound; 0.8 per turn in that
            configuration, while ROME's paper has no lower bound.
        unit: the unit that is dropped as a whole; the rows of a rollout must then stay in one micro-batch.
        weigh: False only masks.
        clamp: nats, > 0; bounds the exponent from both sides.

    Returns:
        A correction: Batch -> Weights of [B, T], 0 off the mask. correction_cut is the mean dropped weight.

    Raises:
        InputError: bounds that do not enclose 1; another unit; by rollout, missing rows.

    Example:
        old - behaviour 0.5, 1.5, -1 with cap 2  ->  v 1.64872, 4.48169, 0.36788  ->  w 1.64872, 0, 0
        turns of 0.2, 0.4 and -0.1, 0.3 with floor 0.8, cap 1.2, unit "turn", weigh=False  ->  w 0, 0 and 1, 1

    Paper: Liu and Li 2025, "When Speed Kills Stability"; both bounds as in IcePop, arXiv:2510.18855; by turn
    arXiv:2512.24873 (ROME), the mismatch mask of a chunk.
    Differs: released code (verl) removes dropped tokens from the denominators too.
    """
    low = 1 / cap if floor is None else floor
    if not 0 <= low <= 1 <= cap:
        raise InputError(f"the bounds must enclose 1, but floor is {low} and cap {cap}")
    validate_unit(unit)

    def correction(batch: Batch) -> Weights:
        value_BT = log_mismatch(batch, unit).clamp(-clamp, clamp).exp().detach()
        raw_BT = masked(value_BT if weigh else torch.ones_like(value_BT), batch.mask_BT)
        return Weights(masked(raw_BT, (value_BT >= low) & (value_BT <= cap)), raw_BT)

    return correction
