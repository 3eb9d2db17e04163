"""GRPO (arXiv:2402.03300): normalise rewards within the group, and penalise the KL to the reference policy."""

from handaxe.losses import terms
from handaxe.methods.method import Method, replace

__all__ = ["grpo"]


def grpo(base: Method, *, kl_coefficient: float = 0.04) -> Method:
    """Add a KL penalty to the loss.

    Args:
        kl_coefficient: beta of the k3 penalty against the reference policy; 0.04 in the paper.
    """
    return replace(base, terms=(terms.kl(coefficient=kl_coefficient),), annotate=("ref_logp",))
