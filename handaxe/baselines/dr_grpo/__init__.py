"""Dr. GRPO: GRPO without its two normalisations."""

from handaxe.credit.group_norm import group_norm
from handaxe.losses.reductions.constant_length import constant_length
from handaxe.methods.method import Method, replace

__all__ = ["dr_grpo"]


def dr_grpo(base: Method, *, max_length: int = 48) -> Method:
    """Train with centred advantages and a sum over tokens divided by a constant.

    Args:
        max_length: the constant that token sums are divided by, in tokens.
    """
    return replace(base, credit=group_norm(std=None), reduction=constant_length(length=max_length))
