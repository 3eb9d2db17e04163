"""GSPO: one ratio for a whole sequence."""

from handaxe.losses.ratios.sequence import sequence
from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import Method, replace

__all__ = ["gspo"]


def gspo(base: Method, *, eps_low: float = 3e-4, eps_high: float = 4e-4) -> Method:
    """Train with the geometric mean of the token ratios, clipped as one.

    Args:
        eps_low: lower clip; 3e-4 in the paper.
        eps_high: upper clip; 4e-4 in the paper.
    """
    return replace(base, ratio=sequence(), surrogate=clip(eps_low=eps_low, eps_high=eps_high))
