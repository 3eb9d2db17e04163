"""CISPO: clip the weight, keep every token's gradient."""

from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.truncated import truncated
from handaxe.methods.method import Method, replace

__all__ = ["cispo"]


def cispo(base: Method) -> Method:
    """Train REINFORCE with a truncated, detached importance weight."""
    return replace(base, surrogate=truncated(), reduction=token_mean())
