"""A second policy loss, on advantages of one channel."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.batch import CHANNEL, Batch, LossOut, PolicyOut
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Ratio, Reduction, Surrogate, Term, extra
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked

__all__ = ["channel_loss"]


def channel_loss(*, channel: str, coefficient: float, ratio: Ratio, surrogate: Surrogate, reduction: Reduction) -> Term:
    """Add a policy loss on one channel of the advantages, averaged over the rollouts with a non-zero advantage.

        L = coefficient reduce_Q(surrogate(log_ratio_t, A^c_t, logp_t))          over trained tokens t
        Q = rollouts of the optimiser step with A^c_t != 0 at some token; L = 0 if Q is empty

    Q changes only the denominators of the reduction: it counts tokens, rollouts or turns of Q. Rollouts outside Q add
    0, since A^c is 0 there.

    Args:
        channel: name in `Advantages.channels`; `papers.hdpo.per_channel` fills it.
        coefficient: weight of the loss; 0.15 in the paper, which tries 0.1 to 0.2.
        ratio, surrogate, reduction: pieces of the loss; the paper takes those of its policy loss.

    Returns:
        A term: (PolicyOut, Batch) -> LossOut, with the metrics CHANNEL_loss, the reduced loss without the coefficient,
        and CHANNEL_share, the share of trained rollouts in Q.

    Raises:
        InputError: the batch has no such channel.

    Example:
        two rollouts of one token each, A^c 1 and 0, ratios 1.5 and 1, clip, token_mean, coefficient 0.5
        ->  0.5 * -1.2 / 1 = -0.6; a mean over both rollouts would be -0.3

    Paper: arXiv:2604.08545 (HDPO), the efficiency loss; its accuracy loss is the base's policy loss.
    Differs: the released code averages within each micro-batch; here the mean is over the optimiser step.
    """

    def term(out: PolicyOut, batch: Batch) -> LossOut:
        name = CHANNEL + channel
        adv_BT = extra(batch, name)
        if name not in batch.channels:
            raise InputError(f"the batch has no denominators of {name!r}: call add_denominators")
        counts = batch.channels[name]
        loss_BT = surrogate(ratio(out, batch), adv_BT, masked(out.logp_BT, batch.mask_BT))
        value = reduction(loss_BT, replace(batch, adv_BT=adv_BT, denominators=counts))
        # A part of the whole step's share in each micro-batch, so that the parts add up to it.
        fraction = (batch.mask_BT.sum() / (batch.denominators.tokens or 1.0)).to(value.dtype)
        share = fraction * counts.rollouts / (batch.denominators.rollouts or 1.0)
        return LossOut(coefficient * value, floats({f"{channel}_loss": value, f"{channel}_share": share}))

    return term
