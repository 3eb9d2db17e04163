"""BN-GSPO: advantages standardised within the group, and then by the spread of the batch."""

from handaxe.credit.batch_norm import batch_norm
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.gspo import gspo
from handaxe.worlds.sums import sums

__all__ = ["bn_gspo"]

TITLE = "SenseNova-MARS: Empowering Multimodal Agentic Reasoning and Search via Reinforcement Learning"
RECIPE = Recipe(
    paper=Paper(TITLE, "BN-GSPO", "2512.24330", 137),
    claims=(
        Claim(
            "The length of gradients varies less along the run, at the same accuracy.",
            "training/grad_norm",
            "down",
            over="spread",
            same="pass@1",
            vice=0.2,
        ),
    ),
    base=partial(gspo, eps_low=0.2, eps_high=0.28),
    world=sums,
    setting=Setting(model="start", steps=25, group_size=4),
)


def bn_gspo(base: Method) -> Method:
    """Divide standardised rewards by their spread over the batch, which groups of equal rewards make small."""
    return replace(base, shape=batch_norm(of="standardised"))
