"""DAPO (arXiv:2503.14476): higher upper clip, dynamic sampling, token-level mean, and overlong reward shaping."""

from handaxe import rewards, selection
from handaxe.losses import reductions, surrogates
from handaxe.methods.method import Method, replace

__all__ = ["dapo"]


def dapo(base: Method, *, rounds: int = 3, length_limit: int = 96, length_cache: int = 32) -> Method:
    """Train on groups with correct and incorrect rollouts, with asymmetric clipping and without KL penalty.

    Args:
        rounds: most rounds of sampling that fill a step; 10 in the released code.
        length_limit: maximum tokens of a rollout; 20480 in the paper.
        length_cache: tokens before the limit in which the penalty grows; 4096 in the paper.
    """
    overlong = rewards.overlong(limit=length_limit, cache=length_cache)
    return replace(
        base,
        surrogate=surrogates.clip(eps_high=0.28),
        reduction=reductions.token_mean(),
        terms=(),
        annotate=(),
        reward=rewards.weighted({"correct": (1.0, base.reward), "overlong": (1.0, overlong)}),
        select=selection.drop_equal_groups(channel="correct"),
        async_config=replace(base.async_config, rounds=rounds),
    )
