"""ToolOrchestra (arXiv:2511.21689): weight tools, cost and time of correct rollouts by the user's preference."""

from handaxe import rewards, selection
from handaxe.methods.method import Method, replace
from handaxe.papers.tool_orchestra.mask_by_channel import mask_by_channel
from handaxe.papers.tool_orchestra.preference_weighted import preference_weighted

__all__ = ["tool_orchestra"]


def tool_orchestra(base: Method, *, tolerance: float = 0.1) -> Method:
    """Reward preferences among siblings; drop homogeneous groups, and mask malformed rollouts.

    Args:
        tolerance: groups with a smaller standard deviation of the reward are dropped; 0.1 in the paper.
    """
    preferred = preference_weighted(base=base.reward)
    groups = selection.drop_equal_groups(tolerance=tolerance)
    return replace(
        base,
        reward=rewards.weighted({"preferred": (1.0, preferred), "format": (0.0, rewards.well_formed())}),
        select=selection.pipe(base.select, groups, mask_by_channel(channel="format")),
    )
