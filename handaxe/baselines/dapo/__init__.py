"""DAPO: clip higher, sample dynamically, mean over tokens, shape overlong attempts."""

from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.methods.method import Method, replace
from handaxe.rewards.overlong import overlong
from handaxe.rewards.weighted import weighted
from handaxe.selection.drop_equal_groups import drop_equal_groups

__all__ = ["dapo"]


def dapo(base: Method, *, rounds: int = 3, length_limit: int = 96, length_cache: int = 32) -> Method:
    """Train on groups that are neither all right nor all wrong, with asymmetric clipping and without KL penalty.

    Args:
        rounds: most generation rounds to fill a step; 10 in the released recipe.
        length_limit: expected most tokens of an attempt; 20480 in the paper.
        length_cache: tokens before the limit in which the penalty grows; 4096 in the paper.
    """
    long = overlong(limit=length_limit, cache=length_cache)
    loss = replace(base, surrogate=clip(eps_high=0.28), reduction=token_mean(), terms=(), annotate=())
    reward = weighted({"correct": (1.0, base.reward), "overlong": (1.0, long)})
    pace = replace(base.pace, rounds=rounds)
    return replace(loss, reward=reward, select=drop_equal_groups(channel="correct"), pace=pace)
