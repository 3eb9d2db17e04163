"""Router-R1: other models are tools, and a right answer is worth more the less was paid for it."""

from handaxe.methods.method import Method, replace
from handaxe.papers.router_r1.running_cost import running_cost
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.well_formed import well_formed

__all__ = ["router_r1"]


def router_r1(base: Method, *, share: float = 0.6, window: int = 1000, released: bool = False) -> Method:
    """Train on -1 for a malformed attempt, 0 for a wrong one, and a mixture of right and cheap for the others.

    Args:
        share: a, of the cost in the reward of a right answer; 0 in the released default, the paper sweeps it.
        window: costs remembered; 1000 in the released code.
        released: judge siblings one by one, as the released code does.
    """
    malformed = Rung("format", well_formed(arguments=True), weight=0.0, failed=-1.0)
    routed = Rung("routed", running_cost(base=base.reward, share=share, window=window, released=released))
    return replace(base, reward=ladder((malformed, routed)))
