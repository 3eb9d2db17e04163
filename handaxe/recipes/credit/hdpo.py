"""HDPO: accuracy and economy have an advantage and a loss each, and economy is compared among right attempts alone."""

from handaxe.credit.among import among
from handaxe.credit.apart import apart
from handaxe.credit.group_norm import group_norm
from handaxe.credit.parts.choices import above
from handaxe.losses.terms.channel_loss import channel_loss
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.plain import plain
from handaxe.rewards.few_calls_if_right import few_calls_if_right
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.sums import sums

__all__ = ["hdpo"]

TITLE = "Act Wisely: Cultivating Meta-Cognitive Tool Use in Agentic Multimodal Models"
ONE_REWARD = "hdpo --scalar 0.15 --tool-weight 0"
RECIPE = Recipe(
    paper=Paper(TITLE, "HDPO", "2604.08545", 214),
    claims=(
        Claim(
            "Fewer calls than without the efficiency loss, as accurate.",
            "calls",
            "down",
            baseline="hdpo --tool-weight 0",
            same="pass@1",
            vice=0.6,
        ),
        Claim(
            "Fewer calls than with one reward for both, as accurate.",
            "calls",
            "down",
            baseline=ONE_REWARD,
            same="pass@1",
        ),
        Claim(
            "Fewer needless calls than without it.",
            "calls",
            "down",
            baseline="hdpo --tool-weight 0",
            where=("difficulty", "easy"),
            vice=0.2,
        ),
    ),
    base=partial(plain, minibatches=2),
    world=sums,
    setting=Setting(model="start"),
)


def hdpo(base: Method, *, tool_weight: float = 0.15, format_weight: float = 0.1, scalar: float = 0.0) -> Method:
    """Train on answer and format, and beside them on few calls in a loss of its own.

    Differs: the paper leaves out of training all prompts with equal accuracy rewards beforehand; here all are taken.

    Args:
        tool_weight: of the efficiency loss; 0.15 in the paper.
        format_weight: of a well-formed attempt; 0.1 in the paper, where the answer weighs 0.9, as here.
        scalar: of the efficiency reward inside the one reward, what the paper compares with.
    """
    parts = {
        "accuracy": (0.9, base.reward),
        "format": (format_weight, well_formed()),
        "efficiency": (scalar, few_calls_if_right(base=base.reward)),
    }
    economy = among(group_norm(channel="efficiency"), above("efficiency"))
    term = channel_loss(
        channel="efficiency",
        coefficient=tool_weight,
        ratio=base.ratio,
        surrogate=base.surrogate,
        reduction=base.reduction,
    )
    return replace(
        base,
        reward=weighted(parts),
        credit=apart(base.credit, {"efficiency": economy}),
        terms=(*base.terms, term),
    )
