"""LLDS: what was good must not become less likely while its neighbours train."""

from handaxe.methods.method import Method, replace
from handaxe.papers.llds.keep_likelihood import keep_likelihood

__all__ = ["llds"]


def llds(base: Method, *, coefficient: float = 0.2, minibatches: int = 4) -> Method:
    """Add a penalty on turns that become less likely though they were no worse than others.

    Args:
        coefficient: lambda; 0.2 in the paper, 0 reports what the penalty would be.
        minibatches: optimiser steps a training step; the penalty is 0 in the first.
    """
    kept = keep_likelihood(coefficient=coefficient, gate="turn")
    return replace(base, terms=(*base.terms, kept), minibatches=minibatches)
