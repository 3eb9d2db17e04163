"""Dr. GRPO (arXiv:2503.20783): GRPO without division by standard deviation and rollout length."""

from handaxe import credit
from handaxe.losses import reductions
from handaxe.methods.method import Method, replace

__all__ = ["dr_grpo"]


def dr_grpo(base: Method, *, max_length: int = 48) -> Method:
    """Train with centred advantages and a sum over tokens divided by a constant.

    Args:
        max_length: divisor of token sums, in tokens.
    """
    return replace(base, credit=credit.group_norm(std=None), reduction=reductions.constant_length(length=max_length))
