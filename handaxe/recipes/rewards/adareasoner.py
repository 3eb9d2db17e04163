"""AdaReasoner: good calls count only where the answer is wrong, and tools are called otherwise in every task."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.call_schema import call_schema
from handaxe.rewards.gate import gate
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.selection.in_order import in_order
from handaxe.training.demonstrated import demonstrated
from handaxe.training.stages.teach import teach
from handaxe.worlds.renamed_sums import distracted, renamed_sums, with_names

__all__ = ["adareasoner"]

TITLE = "AdaReasoner: Dynamic Tool Orchestration for Iterative Visual Reasoning"
RECIPE = Recipe(
    paper=Paper(TITLE, "AdaReasoner", "2601.18631", 28),
    claims=(
        Claim("Names do no harm.", "pass@1", "up", baseline="adareasoner --new 0", where=("renamed", "yes"), vice=0.3),
        Claim("A useless tool is used less.", "decoy", "down", baseline="start", same="pass@1", vice=0.3),
    ),
    base=grpo, world=renamed_sums, setting=Setting(model="start"),
)  # fmt: skip


def adareasoner(base: Method, *, new: float = 1.0, taught: int = 6400) -> Method:
    """Teach conversations, half of which begin with a useless call, then train on answers, or else on calls that fit.

    Differs: arithmetic instead of images. Unconfirmed: what of a call counts.

    Args:
        new: share of training tasks whose tools have names of their own; 1 in the paper.
        taught: conversations, shared by all runs.
    """
    tasks = partial(with_names, share=new)
    shared = (*base.shared, teach(source=demonstrated(world=distracted(base.world), count=taught, tasks=tasks)))
    answer = gate(on=base.reward, then=weighted({"right": (8.0, base.reward)}), otherwise=call_schema())
    base = replace(base, shared=shared, tasks=lambda all, seed: in_order(tasks(all), seed=seed))
    return replace(base, reward=gate(on=well_formed(), then=answer))
