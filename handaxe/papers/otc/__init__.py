"""OTC (arXiv:2504.14870): multiply the reward by an efficiency that peaks at the fewest sufficient calls."""

from handaxe.methods.method import Method, replace
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.papers.otc.scaled_share import ScaledShare

__all__ = ["otc"]


def otc(base: Method, *, smooth: float = 3.0) -> Method:
    """Multiply the base's reward by the tool efficiency of OTC-GRPO.

    Args:
        smooth: c, how slowly the efficiency falls; here the maximum number of turns. Unconfirmed.
    """
    reward = fewer_calls(base=base.reward, smooth=smooth)
    return replace(base, reward=reward, learners=(*base.learners, ScaledShare()))
