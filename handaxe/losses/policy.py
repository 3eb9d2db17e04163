"""Policy losses, composed of ratio, surrogate, reduction and optional parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.protocols import Loss
from handaxe.losses.parts.components import Adjustment, Correction, Ratio, Reduction, Surrogate, Term
from handaxe.losses.parts.token_metrics import floats, mean_over_tokens
from handaxe.ops.kl_estimators import k3
from handaxe.ops.masked import masked
from handaxe.ops.shapes import check_shapes

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["policy"]


def policy(
    *,
    ratio: Ratio,
    surrogate: Surrogate,
    reduction: Reduction,
    correction: Correction | None = None,
    adjustments: Sequence[Adjustment] = (),
    terms: Sequence[Term] = (),
) -> Loss:
    """Compose a policy loss.

        loss_t = surrogate(log_ratio_t, A_t, logp_t), then each adjustment in turn, then times the correction's weight
        L = reduction(loss) + sum of the terms

    on trained tokens; values off the mask enter no value, gradient or metric.

        PPO        token, dual_clip or clip, token_mean, terms value and entropy
        GRPO       token, clip, rollout_mean, term kl
        Dr. GRPO   token, clip, constant_length
        DAPO       token, clip(eps_high=0.28), token_mean
        GSPO       sequence, clip(eps_low=3e-4, eps_high=4e-4), rollout_mean
        CISPO      token, truncated, token_mean
        RLOO       token, reinforce, rollout_sum                    REINFORCE++   token, clip, token_mean

    Args:
        ratio: of `losses.ratios`.
        surrogate: of `losses.surrogates`.
        reduction: of `losses.reductions`.
        correction: of `losses.corrections`; None if the sampler's log-probs are the old ones.
        adjustments: of `losses.covariance` and `losses.adjustments`.
        terms: of `losses.terms`; each has its own coefficient and reduction.

    Returns:
        A loss: (PolicyOut, Batch) -> LossOut. Its metrics, including those of terms, are means over the trained tokens
        of the step, except:
        loss, policy_loss   scalars with and without the terms
        ratio_mean, ratio_max   of exp(log_ratio); ratio_max is over tokens
        clip_fraction       share of tokens with an advantage and without a gradient from the surrogate
        approx_kl           k3 between old and new policy, token by token
        adjusted_fraction   share of tokens with a loss changed by an adjustment; only with adjustments
        correction_mean, correction_square, correction_cut      w, w^2 and the cut part of w; only with a correction

    Raises:
        InputError: shapes of policy and batch differ, or two terms report a metric with one name.

    Example:
        one rollout of two tokens, A 1, ratios 1.5 and 1, clip, token_mean  ->  (-1.2 - 1) / 2 = -1.1, clip_fraction 0.5

    Idea: ratio level, surrogate, aggregation and extra terms are independent choices.
    Differs: nothing.
    """

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        mask_BT = batch.mask_BT
        check_shapes(out.logp_BT, mask_BT.shape, "the policy's logp_BT")
        logp_BT, adv_BT = masked(out.logp_BT, mask_BT), masked(batch.adv_BT, mask_BT)
        log_ratio_BT = ratio(out, batch)
        plain_BT = loss_BT = surrogate(log_ratio_BT, adv_BT, logp_BT)
        for adjust in adjustments:
            loss_BT = adjust(loss_BT, log_ratio_BT, out, batch)
        named = _movement(log_ratio_BT, logp_BT, batch)
        named["clip_fraction"] = mean_over_tokens(_stopped(surrogate, log_ratio_BT, adv_BT, logp_BT), batch)
        if adjustments:
            named["adjusted_fraction"] = mean_over_tokens((loss_BT != plain_BT).to(loss_BT.dtype), batch)
        if correction is not None:
            weight_BT, raw_BT = correction(batch)
            loss_BT = loss_BT * weight_BT
            named["correction_mean"] = mean_over_tokens(weight_BT, batch)
            named["correction_square"] = mean_over_tokens(weight_BT.square(), batch)
            named["correction_cut"] = mean_over_tokens(raw_BT - weight_BT, batch)
        value = named["policy_loss"] = reduction(loss_BT, batch)
        parts = [term(out, batch) for term in terms]
        for part in parts:
            value = value + part.value
        return LossOut(value, _merged([floats({"loss": value, **named}), *[part.metrics for part in parts]]))

    return loss


def _movement(log_ratio_BT: Tensor, logp_BT: Tensor, batch: Batch) -> dict[str, Tensor]:
    """Movement of the policy since the tokens were sampled."""
    rho_BT = masked(log_ratio_BT.detach().exp(), batch.mask_BT)
    gap_BT = (masked(batch.old_logp_BT, batch.mask_BT) - logp_BT.detach()).clamp(-20, 20)
    return {
        "ratio_mean": mean_over_tokens(rho_BT, batch),
        "ratio_max": rho_BT.max(),
        "approx_kl": mean_over_tokens(k3(gap_BT), batch),
    }


def _stopped(surrogate: Surrogate, log_ratio_BT: Tensor, adv_BT: Tensor, logp_BT: Tensor) -> Tensor:
    """1 for tokens with an advantage and a zero gradient of the surrogate."""
    with torch.enable_grad():
        ratio_leaf, logp_leaf = log_ratio_BT.detach().requires_grad_(), logp_BT.detach().requires_grad_()
        total = surrogate(ratio_leaf, adv_BT.detach(), logp_leaf).sum()
        pushes = torch.autograd.grad(total, [ratio_leaf, logp_leaf], allow_unused=True)
    still_BT = torch.ones_like(adv_BT, dtype=torch.bool)
    for push_BT in pushes:
        if push_BT is not None:
            still_BT = still_BT & (push_BT == 0)
    return (still_BT & (adv_BT != 0)).to(adv_BT.dtype)


def _merged(parts: Sequence[dict[str, float]]) -> dict[str, float]:
    whole: dict[str, float] = {}
    for part in parts:
        twice = sorted(whole.keys() & part.keys())
        if twice:
            raise InputError(f"two parts of this loss report {twice}; remove one of them")
        whole |= part
    return whole
