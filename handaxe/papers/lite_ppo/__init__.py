"""Lite PPO: the mean of the group, the spread of the batch, the mean over tokens."""

from typing import Literal

from handaxe.advantages.batch_norm import batch_norm
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.methods.method import Method, replace

__all__ = ["lite_ppo"]


def lite_ppo(base: Method, *, of: Literal["reward", "centred"] = "reward") -> Method:
    """Scale centred rewards by the batch, and let every token weigh the same.

    Args:
        of: whose spread divides: of "reward", or of what was "centred" within its group.
    """
    return replace(base, shape=batch_norm(of=of), reduction=token_mean())
