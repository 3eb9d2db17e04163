"""KL penalty to a reference policy."""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.losses.parts.components import Estimator, Reduction, Term, extra
from handaxe.losses.parts.token_metrics import floats
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.ops.kl_estimators import k3
from handaxe.ops.masked import masked

__all__ = ["kl"]


def kl(
    *,
    coefficient: float,
    estimator: Estimator = k3,
    reduction: Reduction | None = None,
    clamp: float | None = 20.0,
    ceiling: float | None = 10.0,
) -> Term:
    """Add a penalty on the divergence from the reference policy.

        L = coefficient reduce(clip(k(clip(d_t, -clamp, clamp)), -ceiling, ceiling))        d_t = logp_t - ref_t

    on trained tokens; ref_t is `batch.extras["ref_logp"]` and k an estimator of `ops.kl_estimators`. A clipped token
    has no gradient.

    Args:
        coefficient: 0.04 in GRPO, 0.001 in verl's recipes.
        estimator: k3 (GRPO's; its gradient is biased), k2, or k3_straight_through, whose gradients are those of the KL.
        reduction: of tokens; give the one of the policy loss. None for `token_mean`.
        clamp: nats, bounds d; None for no bound. 20 in verl, none in the papers.
        ceiling: nats, bounds the estimate; None for no bound. 10 in verl, none in the papers.

    Returns:
        A term: (PolicyOut, Batch) -> LossOut with metric kl, the reduced estimate without the coefficient.

    Raises:
        InputError: the batch has no ref_logp.

    Example:
        d 0.5, k3, coefficient 0.04  ->  kl 0.10653, L 0.0042612, d L / d logp = 0.04 (1 - exp(-0.5)) = 0.0157388
        d 0.5, k3_straight_through   ->  the same value, d L / d logp = 0.04 * 0.5 = 0.02

    Paper: arXiv:2402.03300 (GRPO), Eq. (4); the correct gradient: arXiv:2510.01555.
    Differs: the two bounds, as in verl; None, None is the papers' form.
    """
    reduce = token_mean() if reduction is None else reduction

    def term(out: PolicyOut, batch: Batch) -> LossOut:
        gap_BT = masked(out.logp_BT, batch.mask_BT) - extra(batch, "ref_logp")
        if clamp is not None:
            gap_BT = gap_BT.clamp(-clamp, clamp)
        kl_BT = estimator(gap_BT)
        if ceiling is not None:
            kl_BT = kl_BT.clamp(-ceiling, ceiling)
        value = reduce(kl_BT, batch)
        return LossOut(coefficient * value, floats({"kl": value}))

    return term
