"""ToolOrchestra (arXiv:2511.21689) for preference vectors: coordinates scaled over the batch, models as tools."""

from handaxe import rewards, selection
from handaxe.methods.method import Method, replace
from handaxe.papers.tool_orchestra.batch_preference import batch_preference, preference_coordinates
from handaxe.papers.tool_orchestra.mask_by_channel import mask_by_channel
from handaxe.papers.tool_orchestra.preference_weighted import preference_weighted

__all__ = ["tool_orchestra_vectors"]


def tool_orchestra_vectors(base: Method, *, tolerance: float = 0.1, small: str = "rule") -> Method:
    """Reward preferences over the batch; drop homogeneous groups, and mask malformed rollouts.

    Args:
        tolerance: groups with a smaller standard deviation of the reward are dropped; 0.1 in the paper.
        small: who answers for the small model among the tools: rule, self, self@start, trained, a model, or
            http://HOST/v1#NAME.
    """
    preferred = preference_weighted(base=base.reward)
    over_batch = batch_preference(credit=base.credit, correct="preferred/base", coordinates="coordinates")
    groups = selection.drop_equal_groups(tolerance=tolerance)
    return replace(
        base,
        aux_policies={"small": small},
        reward=rewards.weighted(
            {
                "preferred": (1.0, preferred),
                "coordinates": (0.0, preference_coordinates()),
                "format": (0.0, rewards.well_formed()),
            }
        ),
        select=selection.pipe(base.select, over_batch, groups, mask_by_channel(channel="format")),
    )
