"""ToolRL: grade each call against the reference, name, parameters and values apart."""

from handaxe.methods.method import Method, replace
from handaxe.papers.toolrl.thought_length import thought_length
from handaxe.rewards.graded_call import Grade, graded_call
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["toolrl"]


def toolrl(base: Method, *, grade: Grade = "fine", scale: float = 3.0, thought: float = 0.0) -> Method:
    """Train on a single decision: which call to make, graded finely.

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
