"""Entropy bonus.

Kept: a standard term of PPO-style losses.
"""

from __future__ import annotations

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.losses.parts.components import Reduction, Term
from handaxe.losses.parts.token_metrics import floats
from handaxe.losses.reductions.token_mean import token_mean

__all__ = ["entropy"]


def entropy(*, coefficient: float, reduction: Reduction | None = None) -> Term:
    """Add a bonus for the entropy of the sampling distributions of trained tokens.

        L = -coefficient reduce(H_t)            H_t = -sum_v p_v log p_v before token t

    Args:
        coefficient: >= 0 rewards entropy; 0.01 in A3C, 0 to 0.001 for language models. 0 still reports the metric.
        reduction: of tokens; None for `token_mean`.

    Returns:
        A term: (PolicyOut, Batch) -> LossOut with metric entropy, in nats. Entropies are computed only with such a
            term.

    Example:
        entropies 0.5, 0.7 on two trained tokens, coefficient 0.01  ->  entropy 0.6, L -0.006, d L / d H_t = -0.005

    Paper: arXiv:1602.01783 (A3C), section 4.
    Differs: nothing.
    """
    reduce = token_mean() if reduction is None else reduction

    def term(out: PolicyOut, batch: Batch) -> LossOut:
        value = reduce(out.entropy(), batch)
        return LossOut(-coefficient * value, floats({"entropy": value}))

    return term
