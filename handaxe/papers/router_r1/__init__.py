"""Router-R1 (arXiv:2506.09033): call other models as tools, and pay correct answers more for lower cost."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.router_r1.running_cost import running_cost
from handaxe.rewards.ladder import Rung

__all__ = ["router_r1"]


def router_r1(base: Method, *, cost_share: float = 0.6, window: int = 1000) -> Method:
    """Reward -1 for a malformed rollout, 0 for a wrong one, and a mixture of correctness and cost otherwise.

    Args:
        cost_share: a, share of the cost in the reward of a correct answer; 0 in the released default, the paper
            sweeps it.
        window: number of past costs for the normalization; 1000 in the released code.
    """
    form = Rung("format", rewards.well_formed(arguments=True), weight=0.0, failed=-1.0)
    routed = Rung("routed", running_cost(base=base.reward, share=cost_share, window=window))
    return replace(base, reward=rewards.ladder((form, routed)))
