"""Value loss of the critic."""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Reduction, Term, extra
from handaxe.losses.parts.token_metrics import floats, mean_over_tokens
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.ops.masked import masked

__all__ = ["value"]


def value(*, coefficient: float = 1.0, eps: float | None = 0.5, reduction: Reduction | None = None) -> Term:
    """Add the squared error of the critic, pessimistic about large moves.

        L = coefficient reduce(0.5 max((V_t - R_t)^2, (clip(V_t, Vold_t - eps, Vold_t + eps) - R_t)^2))

    on trained tokens: V_t is the critic's current value, Vold_t the value at rollout time (`batch.extras["value"]`),
    R_t the return (`batch.extras["returns"]`). The gradient is 0 if the clipped error is larger.

    Args:
        coefficient: >= 0.
        eps: > 0, in units of the return; 0.5 in verl. None for the plain squared error, without Vold.
        reduction: of tokens; None for `token_mean`.

    Returns:
        A term: (PolicyOut, Batch) -> LossOut with metrics value_loss, value_mean and value_clip_fraction.

    Raises:
        InputError: the engine has no critic, or the batch lacks returns or value.

    Example:
        V 1.0, Vold 0, R 0.2, eps 0.5  ->  0.5 max(0.64, 0.09) = 0.32, d L / d V = 0.8
        V 1.0, Vold 0, R 2.0, eps 0.5  ->  0.5 max(1, 2.25) = 1.125, d L / d V = 0

    Paper: arXiv:1707.06347 names a squared error; the clipped form is that of OpenAI baselines.
    Differs: nothing.
    """
    reduce = token_mean() if reduction is None else reduction

    def term(out: PolicyOut, batch: Batch) -> LossOut:
        if out.value_BT is None:
            raise InputError("a value term needs an engine with a critic, but this one returned no values")
        value_BT, returns_BT = masked(out.value_BT, batch.mask_BT), extra(batch, "returns")
        error_BT = (value_BT - returns_BT).square()
        worst_BT = error_BT
        if eps is not None:
            old_BT = extra(batch, "value")
            near_BT = value_BT.clamp(old_BT - eps, old_BT + eps)
            worst_BT = torch.maximum(error_BT, (near_BT - returns_BT).square())
        loss = reduce(0.5 * worst_BT, batch)
        metrics = {
            "value_loss": loss,
            "value_mean": mean_over_tokens(value_BT, batch),
            "value_clip_fraction": mean_over_tokens((worst_BT > error_BT).to(value_BT.dtype), batch),
        }
        return LossOut(coefficient * loss, floats(metrics))

    return term
