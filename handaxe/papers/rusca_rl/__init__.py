"""RuscaRL: a rubric is said beforehand, less of it to each sibling and none of it later, and its points are paid."""

from handaxe.methods.method import Method, replace
from handaxe.rewards.parts.schedules import sigmoid
from handaxe.rewards.rubric_points import rubric_points
from handaxe.rollouts.hinted import hinted
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.parts.hints import with_hints

__all__ = ["rusca_rl"]


def rusca_rl(base: Method, *, middle: float = 0.2, steepness: float = 125.0, taught: int = 30) -> Method:
    """Begin attempts with criteria as hints, and pay for the points of those that are met.

    Evaluations are not hinted.

    Args:
        middle: share of the run after which half of the hints are left; 0.2 in the paper.
        steepness: of the fall; 125 in the paper, for 350 steps.
        taught: steps of the expert's hinted conversations beforehand; 0 for a model that reads hints.
    """
    criteria = base.world.need("criteria")
    fade = sigmoid(base.settings.steps, middle=middle, steepness=steepness)
    return replace(
        base,
        stages=(*base.stages, teach_expert(world=with_hints(base.world), steps=taught)),
        rollout=hinted(rollout=base.rollout, criteria=criteria, fraction=fade),
        reward=rubric_points(criteria=criteria, check=base.world.need("check")),
    )
