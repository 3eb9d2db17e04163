"""ToolRL: grade each call against the reference, name, parameters and values apart."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.graded_call import Grade, graded_call
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.calls import calls

__all__ = ["toolrl"]

RECIPE = Recipe(
    paper=Paper("ToolRL: Reward is All Tool Learning Needs", "ToolRL", "2504.13958", 12),
    claims=(Claim("Finer grades learn better calls.", "pass@1", "up", baseline="toolrl --grade coarse"),),
    world=calls,
    setting=Setting(max_turns=1),
)


def toolrl(base: Method, *, grade: Grade = "fine", scale: float = 3.0) -> Method:
    """Train on a single decision: which call to make, graded finely.

    Args:
        grade: fine, refined, intermediate or coarse; fine in the paper.
        scale: the reward of calls that equal the reference; 3 in the paper.
    """
    graded = graded_call(grade=grade, scale=scale, gold=base.world.need("reference"))
    return replace(base, reward=weighted({"calls": (1.0, graded), "format": (1.0, well_formed())}))
