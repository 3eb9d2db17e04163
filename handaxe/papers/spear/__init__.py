"""SPEAR (arXiv:2509.22601): anneal a reward for tool calls, and replay past successes with recalibrated advantages."""

from handaxe import losses, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.spear.self_imitation import REPLAYED, self_imitation
from handaxe.training.loop.schedule import cosine

__all__ = ["spear"]


def spear(
    base: Method,
    *,
    capacity: int = 16,
    anneal_steps: int = 10,
    recalibrate: bool = True,
    imitate: bool = True,
    scale: float = 10.0,
    clip_replays_only: bool = False,
) -> Method:
    """Train with a graded reward of the world's subgoals, an annealed call reward and self-imitation.

    Args:
        capacity: rollouts of a replay; 2048 in the paper, 32 in its released math script.
        anneal_steps: steps until calls earn 0 and a replay has weight 1; 200 and 100 to 300 in the paper.
        recalibrate: compare replayed rewards with the median of recent groups; False keeps the stored advantages.
        imitate: False trains with the graded reward alone: the base, without replays and without a reward for calls.
        scale: reward of a rollout that meets all subgoals, > 0; 10 in the released code for ALFWorld and WebShop.
        clip_replays_only: the covariance clip leaves new rollouts alone, as in the paper's text; the released code
            clips both.
    """
    world = base.world
    subgoals = rewards.rubric_points(check=world.need("check"), criteria=world.need("criteria"))
    graded = rewards.weighted({"subgoals": (scale, subgoals)})
    calls = rewards.annealed_calls(scale=cosine(1.0, steps=anneal_steps))
    rising = cosine(0.0, steps=anneal_steps, floor=1.0)
    clipped = {True: REPLAYED, False: None}[clip_replays_only]
    clip = losses.covariance.clip_cov(fraction=0.02, low=2.0, high=60.0, only=clipped)
    imitating = replace(
        base,
        reward=rewards.weighted({"subgoals": (scale, subgoals), "calls": (1.0, calls)}),
        select=self_imitation(capacity=capacity, weight=rising, recalibrate=recalibrate, select=base.select),
        adjustments=(*base.adjustments, clip),
    )
    return {True: imitating, False: replace(base, reward=graded)}[imitate]
