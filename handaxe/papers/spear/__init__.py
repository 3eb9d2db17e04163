"""SPEAR: calls are paid for at first, and the best attempts train again, judged by what is usual now."""

from handaxe.losses.covariance.clip_cov import clip_cov
from handaxe.methods.method import Method, replace
from handaxe.papers.spear.self_imitation import REPLAYED, self_imitation
from handaxe.rewards.annealed_calls import annealed_calls
from handaxe.rewards.weighted import weighted
from handaxe.training.loop.schedule import cosine

__all__ = ["spear"]


def spear(base: Method, *, capacity: int = 16, anneal: int = 10, recalibrate: bool = True) -> Method:
    """Train with an annealed reward for calls and with self-imitation.

    Args:
        capacity: attempts of a replay; 2048 in the paper, 32 in its released math script.
        anneal: steps until calls pay 0 and a replay weighs 1; 200 and 100 to 300 in the paper.
        recalibrate: judge what is replayed by the median of recent rewards, and not as it was when stored.
    """
    paid, rising = annealed_calls(scale=cosine(1.0, steps=anneal)), cosine(0.0, steps=anneal, floor=1.0)
    again = self_imitation(capacity=capacity, weight=rising, recalibrate=recalibrate, select=base.select)
    held = clip_cov(fraction=0.02, low=2.0, high=60.0, only=REPLAYED)
    reward = weighted({"correct": (1.0, base.reward), "calls": (1.0, paid)})
    return replace(base, reward=reward, select=again, adjustments=(*base.adjustments, held))
