"""HDPO: accuracy and few calls have an advantage and a loss each, and calls are compared among right attempts alone."""

from handaxe.credit.apart import apart
from handaxe.credit.group_norm import group_norm
from handaxe.losses.terms.channel_loss import channel_loss
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.plain import plain
from handaxe.rewards.economy import economy
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.sums import sums

__all__ = ["hdpo"]

TITLE = "Act Wisely: Cultivating Meta-Cognitive Tool Use in Agentic Multimodal Models"
RECIPE = Recipe(
    paper=Paper(TITLE, "HDPO", "2604.08545", 214),
    claims=(
        Claim("Fewer calls, as accurate.", "calls", "down", baseline="hdpo --tools-weight 0", same="pass@1", vice=0.6),
        Claim("Also than one reward.", "calls", "down", baseline="hdpo --tools-weight 0 --scalar 0.15", same="pass@1"),
    ),
    base=partial(plain, minibatches=2),
    world=sums,
    setting=Setting(model="start"),
)


def hdpo(base: Method, *, tools_weight: float = 0.15, scalar: float = 0.0) -> Method:
    """Train on answer and format, and beside them on few calls in a loss of its own.

    Args:
        tools_weight: of that loss; 0.15 in the paper.
        scalar: weight of few calls inside the one reward, which the paper compares with.
    """
    parts = {"answer": (0.9, base.reward), "format": (0.1, well_formed()), "few": (scalar, economy(base=base.reward))}
    credit = apart(base.credit, {"few": group_norm(channel="few", stats_over="eligible")})
    loss = channel_loss(
        channel="few", coefficient=tools_weight, ratio=base.ratio, surrogate=base.surrogate, reduction=base.reduction
    )
    return replace(base, reward=weighted(parts), credit=credit, terms=(*base.terms, loss))
