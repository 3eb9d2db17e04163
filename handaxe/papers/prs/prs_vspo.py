"""VSPO (arXiv:2512.07478): replace groups without variance by copies of valuable groups, damped with every copy."""

from handaxe import selection
from handaxe.methods.method import Method, replace
from handaxe.papers.prs.refill_by_value import refill_by_value

__all__ = ["prs_vspo"]


def prs_vspo(base: Method, *, damping: float = 0.5, uniform: bool = False) -> Method:
    """Drop groups of equal rewards, and refill the batch with copies of others.

    Args:
        damping: factor of the advantages from one copy to the next; 1 leaves copies unchanged. Unconfirmed.
        uniform: sample copies uniformly instead of by value, the paper's ablation.
    """
    refill = refill_by_value(damping=damping, even=uniform)
    return replace(base, select=selection.pipe(base.select, refill))
