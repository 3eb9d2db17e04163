"""GRPO: the group is the baseline, and a KL penalty keeps the policy near the one it starts from."""

from handaxe.losses.terms.kl import kl
from handaxe.methods.method import Method, replace

__all__ = ["grpo"]


def grpo(base: Method, *, kl_coefficient: float = 0.04) -> Method:
    """Add a KL penalty to the loss.

    Args:
        kl_coefficient: beta of the k3 penalty against the starting policy; 0.04 in the paper.
    """
    return replace(base, terms=(kl(coefficient=kl_coefficient),), annotate=("ref_logp",))
