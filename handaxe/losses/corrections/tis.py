"""Truncated importance sampling: corrects for tokens of another distribution, with capped weights.

Kept: the standard correction between sampler and trainer.
"""

from __future__ import annotations

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Correction, Weights
from handaxe.losses.parts.mismatch import Unit, log_mismatch, validate_unit
from handaxe.ops.masked import masked

__all__ = ["tis"]


def tis(*, cap: float = 2.0, unit: Unit = "token", clamp: float = 20.0) -> Correction:
    """Weigh each token by the probability ratio of trainer to sampler, up to a cap.

        w_t = min(exp(old_t - behaviour_t), cap)                    unit "token": single tokens
        w_t = min(exp(mean_s (old_s - behaviour_s)), cap)           unit "turn": all s of the turn, a geometric mean
        w_t = min(exp(sum_s (old_s - behaviour_s)), cap)            unit "rollout": all s of the rollout

    on trained tokens, 0 elsewhere. old_t is `batch.old_logp_BT`, recomputed by the trainer at the time of the rollout;
    behaviour_t is `batch.behaviour_logp_BT`. The surrogate's ratio then is pi / pi_old, this weight pi_old / sampler.
    If old and behaviour are the same array, every weight is 1. No gradient flows through the weight.

    Args:
        cap: >= 1; 2 (2 to 5 per token, up to 10 per rollout, 1.2 per turn in ROME).
        unit: unit of the compared probability; by rollout, its rows must stay in one micro-batch.
        clamp: nats, > 0; bounds the exponent from both sides.

    Returns:
        A correction: Batch -> Weights of [B, T], 0 off the mask. `policy` reports correction_mean, correction_square
        (both give `effective_sample_size`) and correction_cut, the mean cut by the cap.

    Raises:
        InputError: cap is below 1; another unit; by rollout, missing rows.

    Example:
        old -1, behaviour -1.5  ->  1.64872;  old -0.5, behaviour -2  ->  exp(1.5) = 4.48 -> 2, cut 2.48169

    Paper: Ionides 2008, doi:10.1198/106186008X320456; decoupled from the ratio as in arXiv:2110.00641; by turn
    arXiv:2512.24873 (ROME), the mismatch weight of a chunk.
    Differs: the clamp.
    """
    if cap < 1:
        raise InputError(f"cap bounds a weight with mean 1 and must be >= 1, not {cap}")
    validate_unit(unit)

    def correction(batch: Batch) -> Weights:
        raw_BT = masked(log_mismatch(batch, unit).clamp(-clamp, clamp).exp(), batch.mask_BT).detach()
        return Weights(raw_BT.clamp(max=cap), raw_BT)

    return correction
