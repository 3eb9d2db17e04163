"""Cross-entropy on demonstrations."""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.protocols import Loss
from handaxe.losses.parts.components import Reduction
from handaxe.losses.parts.token_metrics import floats
from handaxe.losses.reductions.token_mean import token_mean

__all__ = ["cross_entropy"]


def cross_entropy(*, reduction: Reduction | None = None) -> Loss:
    """Raise the log-prob of every trained token.

        L = reduce(-logp_t)         over trained tokens; advantages do not enter

    Args:
        reduction: of tokens; None for `token_mean`, the usual form of supervised fine-tuning.

    Returns:
        A loss: (PolicyOut, Batch) -> LossOut with metric loss, in nats per token. 0 without a trained token.

    Example:
        logp -0.5, -1.5 on two trained tokens  ->  L 1.0, d L / d logp_t = -0.5

    Paper: arXiv:2203.02155 (InstructGPT), supervised fine-tuning.
    Differs: nothing.
    """
    reduce = token_mean() if reduction is None else reduction

    def loss(out: PolicyOut, batch: Batch) -> LossOut:
        value = reduce(-out.logp_BT, batch)
        return LossOut(value, floats({"loss": value}))

    return loss
