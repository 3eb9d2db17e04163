"""SPEAR (arXiv:2509.22601): anneal a reward for tool calls, and replay past successes with recalibrated advantages."""

from handaxe import losses, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.spear.self_imitation import REPLAYED, self_imitation
from handaxe.training.loop.schedule import cosine

__all__ = ["spear"]


def spear(base: Method, *, capacity: int = 16, anneal_steps: int = 10, recalibrate: bool = True) -> Method:
    """Train with an annealed call reward and with self-imitation.

    Args:
        capacity: rollouts of a replay; 2048 in the paper, 32 in its released math script.
        anneal_steps: steps until calls earn 0 and a replay has weight 1; 200 and 100 to 300 in the paper.
        recalibrate: compare replayed rewards with the median of recent groups; False keeps the stored advantages.
    """
    calls = rewards.annealed_calls(scale=cosine(1.0, steps=anneal_steps))
    rising = cosine(0.0, steps=anneal_steps, floor=1.0)
    clip = losses.covariance.clip_cov(fraction=0.02, low=2.0, high=60.0, only=REPLAYED)
    return replace(
        base,
        reward=rewards.weighted({"correct": (1.0, base.reward), "calls": (1.0, calls)}),
        select=self_imitation(capacity=capacity, weight=rising, recalibrate=recalibrate, select=base.select),
        adjustments=(*base.adjustments, clip),
    )
