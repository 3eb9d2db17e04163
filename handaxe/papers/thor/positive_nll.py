"""Negative log-likelihood of tokens with positive advantage."""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.errors import InputError
from handaxe.losses.parts.components import Term
from handaxe.losses.parts.token_metrics import floats
from handaxe.ops.masked import masked_sum

__all__ = ["positive_nll"]


def positive_nll(*, coefficient: float = 0.01) -> Term:
    """Add the negative log-likelihood of the tokens with a positive advantage.

        L = -(coefficient / n) sum_{t: A_t > 0} logp_t          n: number of these tokens in the optimizer step

    over trained tokens. Neither the size of an advantage nor a clipped ratio enters: the gradient of a good token does
    not depend on how far it has moved.

    Args:
        coefficient: alpha, >= 0; 0.01 in the paper. 0 only reports the metric.

    Returns:
        A term: (PolicyOut, Batch) -> LossOut with the metric positive_nll, without the coefficient, in nats per token.
        Without a token of positive advantage it is 0.

    Raises:
        InputError: a negative coefficient.

    Example:
        log-probs -0.2, -0.4 at A > 0, -3 at A < 0, coefficient 0.01  ->  positive_nll 0.3, L 0.003

    Paper: THOR (arXiv:2509.13761), Eq. (5), and its released code.
    Differs: the code averages within each micro-batch; here the mean is over the optimizer step.
    """
    if coefficient < 0:
        raise InputError(f"coefficient is {coefficient}; give 0 or more")

    def term(out: PolicyOut, batch: Batch) -> LossOut:
        good_BT = batch.mask_BT & (batch.adv_BT > 0)
        value = -masked_sum(out.logp_BT, good_BT) / (batch.denominators.positive or 1.0)
        return LossOut(coefficient * value, floats({"positive_nll": value}))

    return term
