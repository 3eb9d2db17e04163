"""HDPO (arXiv:2604.08545): give accuracy and tool efficiency an advantage and a policy loss each."""

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.hdpo.channel_loss import channel_loss
from handaxe.papers.hdpo.per_channel import per_channel

__all__ = ["hdpo"]


def hdpo(base: Method, *, tools_weight: float = 0.15, scalar_weight: float = 0.0) -> Method:
    """Train on answer and format; add a second policy loss on tool efficiency among correct siblings.

    Args:
        tools_weight: weight of the efficiency loss; 0.15 in the paper.
        scalar_weight: weight of efficiency inside the one scalar reward, the paper's comparison; 0 in the paper.
    """
    few = rewards.gate(on=base.reward, then=rewards.call_cost(form="inverse"), above=0.0, mark_eligible=True)
    parts = {"answer": (0.9, base.reward), "format": (0.1, rewards.well_formed()), "few": (scalar_weight, few)}
    efficiency = {"few": credit.group_norm(channel="few", stats_over="eligible")}
    loss = channel_loss(
        channel="few", coefficient=tools_weight, ratio=base.ratio, surrogate=base.surrogate, reduction=base.reduction
    )
    return replace(
        base,
        reward=rewards.weighted(parts),
        credit=per_channel(base.credit, efficiency),
        terms=(*base.terms, loss),
    )
