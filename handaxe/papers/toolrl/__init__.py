"""ToolRL (arXiv:2504.13958): grade a tool call by name, parameter names and values."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.toolrl.thought_length import thought_length
from handaxe.rewards.graded_call import Grade
from handaxe.rewards.parts.extract import final_text

__all__ = ["toolrl"]


def toolrl(base: Method, *, grade: Grade = "fine", scale: float = 3.0, thought_weight: float = 0.0) -> Method:
    """Reward the tool calls of a single turn against the reference calls, and their format.

    Args:
        grade: "fine", "refined", "intermediate" or "coarse"; "fine" in the paper.
        scale: reward of calls equal to the reference; 3 in the paper.
        thought_weight: weight of the length reward, full at 8 words; 1 in the paper's length variant, at 512 words.
    """
    calls = rewards.graded_call(grade=grade, scale=scale, gold=base.world.need("reference"))
    thought = thought_length(target=8, thought=final_text)
    parts = {"calls": (1, calls), "format": (1, rewards.well_formed()), "thought": (thought_weight, thought)}
    return replace(base, reward=rewards.weighted(parts))
