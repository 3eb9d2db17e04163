"""DGRPO: hard tasks, and hard families of tasks, weigh more."""

from handaxe.credit.difficulty_weight import difficulty_weight
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.worlds.sums import sums

__all__ = ["dgrpo"]

TITLE = "Thinking With Videos: Multimodal Tool-Augmented Reinforcement Learning for Long Video Reasoning"
RECIPE = Recipe(
    paper=Paper(TITLE, "VITAL", "2508.04416", 133),
    claims=(Claim("Accuracy ends higher where it is hard.", "pass@1", "up", where=("difficulty", "hard"), vice=0.8),),
    base=grpo,
    world=sums,
    setting=Setting(model="start", steps=25),
)


def dgrpo(base: Method, *, family: str = "difficulty", decay: float = 0.9, temperature: float = 1.0) -> Method:
    """Weigh advantages by how little is earned at a task and at tasks of its family.

    Unconfirmed: the whole formula.

    Args:
        family: of the tasks' metadata that names the family.
        decay: of the running mean of what a family earns.
        temperature: of families; the larger, the less they differ.
    """
    return replace(base, shape=difficulty_weight(family=family, decay=decay, temperature=temperature))
