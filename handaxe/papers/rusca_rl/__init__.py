"""RuscaRL (arXiv:2508.16949): hint at the rubric during rollouts, less for each sibling and with every step."""

from handaxe import rewards, rollouts
from handaxe.methods.method import Method, replace
from handaxe.rewards.parts.schedules import sigmoid
from handaxe.training.stages import teach_expert
from handaxe.worlds.parts.hints import add_hints

__all__ = ["rusca_rl"]


def rusca_rl(base: Method, *, midpoint: float = 0.2, steepness: float = 125.0, sft_steps: int = 30) -> Method:
    """Start rollouts with criteria as hints, and reward the points of the criteria that are met.

    Channels "hinted" and "unhinted" have the shares of rollouts with and without hints.

    Args:
        midpoint: share of the run after which half of the hints are left; 0.2 in the paper.
        steepness: of the decay; 125 in the paper, for 350 steps.
        sft_steps: fine-tuning steps on expert conversations with hints, before training.
    """
    criteria = base.world.need("criteria")
    check = base.judge.check(rule=base.world.check, criteria=criteria)
    decay = sigmoid(base.settings.steps, middle=midpoint, steepness=steepness)
    parts = {
        "points": (1.0, rewards.rubric_points(criteria=criteria, check=check)),
        "hinted": (0.0, rewards.outcome(lambda one: bool(one.notes.get("hint")))),
        "unhinted": (0.0, rewards.outcome(lambda one: not one.notes.get("hint"))),
    }
    return replace(
        base,
        stages=(*base.stages, teach_expert(world=add_hints(base.world), steps=sft_steps)),
        rollout=rollouts.hinted(rollout=base.rollout, criteria=criteria, fraction=decay),
        reward=rewards.weighted(parts),
    )
