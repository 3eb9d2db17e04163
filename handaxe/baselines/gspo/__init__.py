"""GSPO (arXiv:2507.18071): clip one length-normalised ratio for a whole response."""

from handaxe.losses import ratios, surrogates
from handaxe.methods.method import Method, replace

__all__ = ["gspo"]


def gspo(base: Method, *, eps_low: float = 3e-4, eps_high: float = 4e-4) -> Method:
    """Replace token ratios by their geometric mean over the sequence.

    Args:
        eps_low: lower clip; 3e-4 in the paper.
        eps_high: upper clip; 4e-4 in the paper.
    """
    return replace(base, ratio=ratios.sequence(), surrogate=surrogates.clip(eps_low=eps_low, eps_high=eps_high))
