"""OTC: a right answer is worth more the closer its calls are to the fewest that ever sufficed."""

from handaxe.methods.method import Method, replace
from handaxe.papers.otc.fewer_calls import fewer_calls

__all__ = ["otc"]


def otc(base: Method, *, smooth: float = 3.0) -> Method:
    """Train on the base's reward times tool efficiency.

    Args:
        smooth: c, how slowly the efficiency falls; unconfirmed, here the most turns.
    """
    return replace(base, reward=fewer_calls(base=base.reward, smooth=smooth))
