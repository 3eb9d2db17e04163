"""HDPO: accuracy and few calls have an advantage and a loss each, and calls are compared among right attempts alone."""

from handaxe.credit.group_norm import group_norm
from handaxe.methods.method import Method, replace
from handaxe.papers.hdpo.channel_loss import channel_loss
from handaxe.papers.hdpo.economy import economy
from handaxe.papers.hdpo.per_channel import per_channel
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["hdpo"]


def hdpo(base: Method, *, tools_weight: float = 0.15, scalar: float = 0.0) -> Method:
    """Train on answer and format, and beside them on few calls in a loss of its own.

    Args:
        tools_weight: of that loss; 0.15 in the paper.
        scalar: weight of few calls inside the one reward, which the paper compares with.
    """
    parts = {"answer": (0.9, base.reward), "format": (0.1, well_formed()), "few": (scalar, economy(base=base.reward))}
    credit = per_channel(base.credit, {"few": group_norm(channel="few", stats_over="eligible")})
    loss = channel_loss(
        channel="few", coefficient=tools_weight, ratio=base.ratio, surrogate=base.surrogate, reduction=base.reduction
    )
    return replace(base, reward=weighted(parts), credit=credit, terms=(*base.terms, loss))
