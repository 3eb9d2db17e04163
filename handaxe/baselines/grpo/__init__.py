"""GRPO (arXiv:2402.03300): normalise rewards within the group, and penalise the KL to the reference policy."""

from handaxe.losses import terms
from handaxe.methods.method import Method, replace

__all__ = ["grpo"]


def grpo(base: Method, *, kl_coefficient: float = 0.04, minibatches: int = 1) -> Method:
    """Add a KL penalty to the loss.

    Args:
        kl_coefficient: beta of the k3 penalty against the reference policy; 0.04 in the paper.
        minibatches: optimiser steps a training step, at least those of the base.
    """
    return replace(
        base,
        terms=(terms.kl(coefficient=kl_coefficient),),
        annotate=("ref_logp",),
        minibatches=max(minibatches, base.minibatches),
    )
