"""Lite PPO (arXiv:2508.08221): center by the group, scale by the batch, average over tokens."""

from handaxe import advantages, losses
from handaxe.methods.method import Method, replace

__all__ = ["lite_ppo"]


def lite_ppo(base: Method) -> Method:
    """Divide centered rewards by the standard deviation of the batch, and weight every token equally."""
    return replace(base, transform=advantages.batch_norm(), reduction=losses.reductions.token_mean())
