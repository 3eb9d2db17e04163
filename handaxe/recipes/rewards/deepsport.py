"""DeepSport: the use of tools is paid for by how right the answer is, and a little where it is wrong."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.gated_use import gated_use
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.no_repeats import no_repeats
from handaxe.rewards.product import product
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.glimpse import glimpse

__all__ = ["deepsport"]

TITLE = (
    "DeepSport: A Multimodal Large Language Model for Comprehensive Sports Video Reasoning "
    "via Agentic Reinforcement Learning"
)
NEED = ("needs_tool", "yes")
NEVER = "deepsport --share 0 --curiosity 0"
OPEN = "deepsport --curiosity 0.5"
RECIPE = Recipe(
    paper=Paper(TITLE, "DeepSport", "2511.12908", 139),
    claims=(
        Claim("More is right than without pay for tools.", "pass@1", "up", baseline=NEVER, where=NEED, vice=0.9),
        Claim("Fewer calls than without a gate.", "calls", "down", baseline=OPEN, same="pass@1", vice=0.9),
    ),
    base=grpo,
    world=partial(glimpse, loose=6),
    setting=Setting(model="start"),
)


def deepsport(base: Method, *, share: float = 0.5, curiosity: float = 0.03, broken: float = -0.05) -> Method:
    """Train on the answer with gated pay for tools, where the format is kept and no call is repeated (a row, no video).

    Args:
        share: of the answer's score, paid once more where tools were used and it is right.
        curiosity: for tools that were used where it is wrong.
        broken: what a malformed attempt earns, or one that makes a call again.
    """
    kept = product({"format": well_formed(), "fresh": no_repeats()})
    paid = gated_use(base=base.reward, share=share, curiosity=curiosity)
    return replace(base, reward=ladder([Rung("kept", kept, weight=0.0, failed=broken), Rung("paid", paid)]))
