"""ToolOrchestra: a right answer is worth what the task's user prefers of tools, cost and time, among its siblings."""

from handaxe.methods.method import Method, replace
from handaxe.papers.tool_orchestra.mask_by_channel import mask_by_channel
from handaxe.papers.tool_orchestra.preference_weighted import preference_weighted
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.selection.pipe import pipe

__all__ = ["tool_orchestra"]


def tool_orchestra(base: Method, *, tolerance: float = 0.1) -> Method:
    """Train on siblings that differ, and on the well-formed among them; the format itself earns nothing.

    Args:
        tolerance: groups are left out whose rewards have a smaller standard deviation; 0.1 in the paper.
    """
    reward = weighted({"preferred": (1.0, preference_weighted(base=base.reward)), "format": (0.0, well_formed())})
    select = pipe(base.select, drop_equal_groups(tolerance=tolerance), mask_by_channel(channel="format"))
    return replace(base, reward=reward, select=select)
