"""CAR's finding: trained on accuracy alone, a policy is surer of what is wrong the less its tool can be relied upon."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.worlds.confident_sums import confident_sums

__all__ = ["confidence_dichotomy"]

TITLE = "The Confidence Dichotomy: Analyzing and Mitigating Miscalibration in Tool-Use Agents"
SURER = "Wrong answers are surer with a noisy tool than with an exact one."
EXACT = "confidence_dichotomy --world.noise 0"
NOTE = "A noisy calculator in the place of search, an exact one in that of code. Nothing rewards the confidence stated."
RECIPE = Recipe(
    paper=Paper(TITLE, "CAR, dichotomy", "2601.07264", 68),
    claims=(
        Claim(SURER, "mcip", "up", baseline=EXACT, note=NOTE),
        Claim("They grow surer with a noisy tool.", "mcip", "up", baseline="start", vice=0.9, note=NOTE),
    ),
    base=grpo,
    world=confident_sums,
    setting=Setting(model="start"),
)


def confidence_dichotomy(base: Method) -> Method:
    """Train on being right, whatever is said of how sure an answer is, in a world where a tool may be wrong."""
    return replace(base, reward=base.world.correct)
