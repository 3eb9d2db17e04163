"""LLDS (arXiv:2512.04220): keep good turns from losing likelihood during the updates of a step."""

from handaxe.methods.method import Method, replace
from handaxe.papers.llds.keep_likelihood import keep_likelihood

__all__ = ["llds"]


def llds(base: Method, *, coefficient: float = 0.2, minibatches: int = 4) -> Method:
    """Penalize turns of non-negative advantage that become less likely.

    Args:
        coefficient: lambda; 0.2 in the paper. 0 only reports the penalty.
        minibatches: optimizer steps a training step; the penalty is 0 in the first.
    """
    penalty = keep_likelihood(coefficient=coefficient, gate="turn")
    return replace(base, terms=(*base.terms, penalty), minibatches=minibatches)
