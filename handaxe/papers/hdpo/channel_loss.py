"""A policy loss of its own for advantages that are kept apart."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.batch import CHANNEL, Batch, LossOut, PolicyOut
from handaxe.core.errors import InputError
from handaxe.losses.parts.metrics import floats
from handaxe.losses.parts.pieces import Ratio, Reduction, Surrogate, Term, extra
from handaxe.ops.masked import masked

__all__ = ["channel_loss"]


def channel_loss(*, channel: str, coefficient: float, ratio: Ratio, surrogate: Surrogate, reduction: Reduction) -> Term:
    """Add a policy loss on a channel of the advantages, averaged over the rollouts that it says something of.

        L = coefficient reduce_Q(surrogate(log_ratio_t, A^c_t, logp_t))
        Q = the rollouts of the optimiser step in which A^c is not 0 throughout; no such rollout gives 0

    on trained tokens. What Q changes is what the reduction divides by: tokens, rollouts, turns of Q alone. The rest
    adds nothing, since A^c is 0 there.

    Args:
        channel: the name in `Advantages.channels`; `papers.hdpo.per_channel` fills it.
        coefficient: 0.15 in the paper's best runs, 0.1 to 0.2 tried.
        ratio, surrogate, reduction: those of the policy loss in the paper.

    Returns:
        A term: (PolicyOut, Batch) -> LossOut with the metrics CHANNEL_loss, the reduced loss without the coefficient,
        and CHANNEL_share, the share of the trained rollouts that are in Q.

    Raises:
        InputError: the batch has no such channel.

    Example:
        two rollouts of a token each, A^c 1 and 0, ratios 1.5 and 1, clip, token_mean, coefficient 0.5
        ->  0.5 * -1.2 / 1 = -0.6; over both rollouts it would be -0.3

    Paper: arXiv:2604.08545 (HDPO), the efficiency loss; its accuracy loss is the policy loss itself.
    Differs: released code averages in each micro-batch; here over the optimiser step, whatever is cut from it.
    """

    def term(out: PolicyOut, batch: Batch) -> LossOut:
        name = CHANNEL + channel
        adv_BT = extra(batch, name)
        if name not in batch.channels:
            raise InputError(f"the batch holds {name!r}, whose rollouts were not counted: call with_denominators")
        counts = batch.channels[name]
        loss_BT = surrogate(ratio(out, batch), adv_BT, masked(out.logp_BT, batch.mask_BT))
        value = reduction(loss_BT, replace(batch, adv_BT=adv_BT, denominators=counts))
        # A part of the whole step's share in each micro-batch, so that the parts add up to it.
        here = (batch.mask_BT.sum() / (batch.denominators.tokens or 1.0)).to(value.dtype)
        share = here * counts.rollouts / (batch.denominators.rollouts or 1.0)
        return LossOut(coefficient * value, floats({f"{channel}_loss": value, f"{channel}_share": share}))

    return term
