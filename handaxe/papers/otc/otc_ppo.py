"""OTC (arXiv:2504.14870), for PPO: multiply the reward by an efficiency that falls with every call."""

from handaxe.methods.method import Method, replace
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.papers.otc.scaled_share import ScaledShare

__all__ = ["otc_ppo"]


def otc_ppo(base: Method, *, smooth: float = 3.0) -> Method:
    """Multiply the base's reward by the tool efficiency of OTC-PPO, which needs no siblings.

    Args:
        smooth: c, how slowly the efficiency falls; here the maximum number of turns. Unconfirmed.
    """
    reward = fewer_calls(base=base.reward, smooth=smooth, hindsight=False)
    return replace(base, reward=reward, learners=(*base.learners, ScaledShare()))
