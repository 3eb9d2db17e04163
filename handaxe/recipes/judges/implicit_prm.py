"""Implicit PRM: a model that learned from outcomes alone scores attempts, and their steps without step labels."""

from handaxe import judges
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.frozen import frozen
from handaxe.worlds.sums import sums

__all__ = ["implicit_prm"]

GAIN, GAP = "training/learner/implicit_prm/gain", "training/learner/implicit_prm/step_gap"
NOTE = "Of attempts that the judge has not learned from yet; the policy that makes them stays as it is."
RECIPE = Recipe(
    paper=Paper("Free Process Rewards without Process Labels", "implicit PRM", "2412.01981"),
    claims=(
        Claim(
            "The best of 8 attempts by its score is right more often than a mean one.",
            GAIN,
            "up",
            baseline="zero",
            over="area",
            learned=True,
            note=NOTE,
        ),
        Claim("Steps of right ones score higher.", GAP, "up", baseline="zero", over="area", learned=True, note=NOTE),
    ),
    base=frozen,
    world=sums,
    setting=Setting(model="start"),
)


def implicit_prm(base: Method, *, beta: float = 0.05, judge_rate: float = 3e-4) -> Method:
    """Teach an implicit PRM beside a policy that stays as it is, by cross-entropy on outcomes.

    Args:
        beta: scale of the log-ratio; 0.05 in the paper.
        judge_rate: learning rate of the PRM.
    """
    return replace(base, learners=(*base.learners, judges.implicit_prm(beta=beta, learning_rate=judge_rate)))
