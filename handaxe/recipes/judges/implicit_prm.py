"""Implicit PRM: a model that learned from outcomes alone scores attempts, and their steps without step labels."""

from handaxe.judges.implicit_prm import implicit_prm as judge
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.frozen import frozen
from handaxe.worlds.sums import sums

__all__ = ["implicit_prm"]

GAIN = "training/learner/implicit_prm/gain"
GAP = "training/learner/implicit_prm/step_gap"
RECIPE = Recipe(
    paper=Paper("Free Process Rewards without Process Labels", "implicit PRM", "2412.01981", 108),
    claims=(
        Claim(
            "Its best of 8 new attempts is right more often.", GAIN, "up", baseline="zero", over="area", learned=True
        ),
        Claim("Steps of right new ones score higher.", GAP, "up", baseline="zero", over="area", learned=True),
    ),
    base=frozen,
    world=sums,
    setting=Setting(model="start"),
)


def implicit_prm(base: Method, *, beta: float = 0.05, judge_rate: float = 3e-4) -> Method:
    """Teach an implicit PRM beside a policy that stays as it is, by cross-entropy on outcomes.

    Differs: attempts are scored by the sum over turns, their minimum in the paper; compared with a mean attempt.

    Args:
        beta: scale of the log-ratio; 0.05 in the paper.
        judge_rate: learning rate of the PRM.
    """
    return replace(base, learners=(*base.learners, judge(beta=beta, learning_rate=judge_rate)))
