"""OTC (arXiv:2504.14870), for PPO: multiply the reward by an efficiency that falls with every call."""

from handaxe.methods.method import Method, replace
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.papers.otc.scaled_share import ScaledShare

__all__ = ["otc_ppo"]


def otc_ppo(base: Method, *, smooth: float = 3.0) -> Method:
    """Multiply the base's reward by the tool efficiency of OTC-PPO, which needs no siblings.

    Args:
        smooth: c, how slowly the efficiency falls; here the maximum number of turns. Unconfirmed.

    Example:
        smooth 3, correct: 0 calls -> 1, 1 call -> cos(pi / 5) = 0.8090, 3 calls -> cos(pi / 3) = 0.5; incorrect: 0

    Paper: arXiv:2504.14870 (OTC), the tool reward of OTC-PPO.
    """
    reward = fewer_calls(base=base.reward, smooth=smooth, hindsight=False)
    return replace(base, reward=reward, learners=(*base.learners, ScaledShare()))
