"""RuscaRL: a rubric is said beforehand, less of it to each sibling and none of it later, and its points are paid."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.parts.schedules import sigmoid
from handaxe.rewards.rubric_points import rubric_points
from handaxe.rollouts.hinted import hinted
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.hints import with_hints
from handaxe.worlds.hops import hops

__all__ = ["rusca_rl"]

TITLE = "Breaking the Exploration Bottleneck: Rubric-Scaffolded Reinforcement Learning for General LLM Reasoning"
NO_HINTS = "rusca_rl --middle -9"
ALWAYS = "rusca_rl --middle 9"
HARD = ("hops", 3)
RECIPE = Recipe(
    paper=Paper(TITLE, "RuscaRL", "2508.16949", 190),
    claims=(
        Claim("More right answers unhinted, where 3 hops are needed.", "pass@1", "up", baseline=NO_HINTS, where=HARD),
        Claim("Hints that go do better than hints that stay.", "pass@1", "up", baseline=ALWAYS, where=HARD),
        Claim("Rewards in a group differ more.", "training/reward_spread", "up", baseline=NO_HINTS, over="area"),
    ),
    base=partial(grpo, kl_coefficient=0.001),
    world=hops,
    setting=Setting(model="start", max_turns=6),
)


def rusca_rl(base: Method, *, middle: float = 0.2, steepness: float = 125.0, taught: int = 30) -> Method:
    """Begin attempts with criteria as hints, and pay for the points of those that are met.

    Evaluations are not hinted. Unconfirmed: that points are cut at 0. Differs: criteria are checked by rule, and a
    small policy is first taught to read hints, before whatever it is compared with as well.

    Args:
        middle: share of the run after which half of the hints are left; 0.2 in the paper.
        steepness: of the fall; 125 in the paper, for 350 steps.
        taught: steps of the expert's hinted conversations beforehand; 0 for a model that reads hints.
    """
    criteria = base.world.need("criteria")
    fade = sigmoid(base.setting.steps, middle=middle, steepness=steepness)
    return replace(
        base,
        stages=(*base.stages, teach_expert(world=with_hints(base.world), steps=taught)),
        rollout=hinted(rollout=base.rollout, criteria=criteria, fraction=fade),
        reward=rubric_points(criteria=criteria, check=base.world.need("check")),
    )
