"""Fathom: what is solved leaves, what failed is given its latest success, and what is left is scaled up."""

from handaxe.credit.useful_share import useful_share
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.revisiting import revisiting
from handaxe.selection.pipe import pipe
from handaxe.selection.prune_solved import prune_solved
from handaxe.selection.success_replay import success_replay
from handaxe.worlds.hops import hops

__all__ = ["fathom"]

TITLE = "Fathom-DeepResearch: Unlocking Long Horizon Information Retrieval and Synthesis for SLMs"
RECIPE = Recipe(
    paper=Paper(TITLE, "Fathom", "2509.24107", 29),
    claims=(
        Claim(
            "Fewer groups teach nothing, at the same accuracy.",
            "training/groups/zero_advantage",
            "down",
            over="area",
            same="pass@1",
            within=0.02,
            vice=3.0,
        ),
    ),
    base=revisiting,
    world=hops,
    setting=Setting(model="start", steps=25, group_size=4, max_turns=5),
)


def fathom(base: Method, *, rate: float = 0.9) -> Method:
    """Train as RAPO does; the paper's reward of steps is not part of it.

    Unconfirmed: the form of the scale.

    Args:
        rate: the share of right attempts from which on a task is left out; 0.9 in the paper.
    """
    latest = success_replay(credit=base.credit, most=1, place="random")
    tasks = prune_solved(rate=rate, around=base.tasks)
    return replace(base, tasks=tasks, select=pipe(base.select, latest), shape=useful_share())
