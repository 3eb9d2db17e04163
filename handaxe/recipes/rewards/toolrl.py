"""ToolRL: grade each call against the reference, name, parameters and values apart."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.graded_call import Grade, graded_call
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.thought_length import thought_length
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.calls import calls

__all__ = ["toolrl"]

NOTE = "Unconfirmed: the paper's finding is quoted from memory. A thought is what is said beside a call."
RECIPE = Recipe(
    paper=Paper("ToolRL: Reward is All Tool Learning Needs", "ToolRL", "2504.13958", 12),
    claims=(
        Claim("Finer grades learn better calls.", "pass@1", "up", baseline="toolrl --grade coarse"),
        Claim("Better calls than if long thoughts pay.", "pass@1", "up", baseline="toolrl --thought 1", note=NOTE),
    ),
    world=calls,
    setting=Setting(max_turns=1, max_tokens=64),
)


def toolrl(base: Method, *, grade: Grade = "fine", scale: float = 3.0, thought: float = 0.0) -> Method:
    """Train on a single decision: which call to make, graded finely.

    Differs: an answer without a call has the form, too, which costs it 1 less than in the paper.

    Args:
        grade: fine, refined, intermediate or coarse; fine in the paper.
        scale: the reward of calls that equal the reference; 3 in the paper.
        thought: weight of a thought of 8 words; 1 in the paper's length variant, where it has 512.
    """
    graded = graded_call(grade=grade, scale=scale, gold=base.world.need("reference"))
    long = thought_length(target=8, thought=final_text)
    return replace(
        base, reward=weighted({"calls": (1, graded), "format": (1, well_formed()), "thought": (thought, long)})
    )
