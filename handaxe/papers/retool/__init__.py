"""ReTool (arXiv:2504.11536): PPO with a code interpreter inside the reasoning, on the outcome alone."""

from handaxe import rewards
from handaxe.methods.method import Method, replace

__all__ = ["retool"]


def retool(base: Method) -> Method:
    """Reward a correct answer with 1 and a wrong one with -1."""
    return replace(base, reward=rewards.failure_shaping(base=base.reward, bonus=0.0, cap=-1.0, correct_above=0.5))
