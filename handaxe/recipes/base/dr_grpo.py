"""Dr. GRPO: GRPO without its two normalisations."""

from handaxe.credit.group_norm import group_norm
from handaxe.losses.reductions.constant_length import constant_length
from handaxe.methods.method import Claim, Method, Paper, Recipe, replace

__all__ = ["dr_grpo"]

RECIPE = Recipe(
    paper=Paper("Understanding R1-Zero-Like Training: A Critical Perspective", "Dr. GRPO", "2503.20783"),
    claims=(
        Claim("Answers get no longer by being wrong: fewer tokens, as accurate.", "tokens", "down", same="pass@1"),
    ),
)


def dr_grpo(base: Method, *, max_length: int = 48) -> Method:
    """Train with centred advantages and a sum over tokens divided by a constant.

    Args:
        max_length: the constant that token sums are divided by, in tokens.
    """
    return replace(base, credit=group_norm(std=None), reduction=constant_length(length=max_length))
