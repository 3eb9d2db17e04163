"""CISPO (arXiv:2506.13585): clip the detached importance weight, and keep every token's gradient."""

from handaxe.losses import reductions, surrogates
from handaxe.methods.method import Method, replace

__all__ = ["cispo"]


def cispo(base: Method) -> Method:
    """Train REINFORCE with a truncated, detached importance weight."""
    return replace(base, surrogate=surrogates.truncated(), reduction=reductions.token_mean())
