"""AdaReasoner: good calls count only where the answer is wrong, and tools are called otherwise in every task."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.call_schema import call_schema
from handaxe.rewards.gate import gate
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.renamed_sums import renamed_sums

__all__ = ["adareasoner"]

TITLE = "AdaReasoner: Dynamic Tool Orchestration for Iterative Visual Reasoning"
NAMED = "adareasoner --world.train 0"
NEW = ("renamed", "yes")
NOTE = "Unconfirmed: what of a call that fits in part counts."
START = (
    "The start differs too: it is taught with the names of training tasks. Unconfirmed: what of a partial fit counts."
)
RECIPE = Recipe(
    paper=Paper(TITLE, "AdaReasoner", "2601.18631", 28),
    claims=(
        Claim("Names never seen do no harm.", "pass@1", "up", baseline=NAMED, where=NEW, vice=0.3, note=START),
        Claim("A useless tool is used less.", "decoy", "down", baseline="start", same="pass@1", vice=0.3, note=NOTE),
    ),
    base=grpo,
    world=partial(renamed_sums, test=1.0, distracted=0.7),
    setting=Setting(model="start"),
)


def adareasoner(base: Method, *, best: float = 8.0) -> Method:
    """Train on answers, and on calls that fit their tools where the answer is wrong; a malformed attempt earns nothing.

    Differs: arithmetic in the place of images, and tools told by their signatures.

    Args:
        best: reward of a right answer; 8 in the released code, where calls earn 4 at most.
    """
    right = weighted({"right": (best, base.reward)})
    answer = gate(on=base.reward, then=right, otherwise=call_schema())
    return replace(base, reward=gate(on=well_formed(), then=answer))
