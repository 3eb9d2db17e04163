"""ToolOrchestra: a right answer is worth what the task's user prefers of tools, cost and time, among its siblings."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.preference_weighted import preference_weighted
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.selection.mask_by_channel import mask_by_channel
from handaxe.selection.pipe import pipe
from handaxe.worlds.priced import priced

__all__ = ["tool_orchestra"]

TITLE = "ToolOrchestra: Elevating Intelligence via Efficient Model and Tool Orchestration"
NOTE = "That coordinates are compared among siblings, and not over the batch, is unconfirmed."
CHEAPER = "A right answer costs less where the cheap is liked, as accurate."
RECIPE = Recipe(
    paper=Paper(TITLE, "ToolOrchestra", "2511.21689", 20),
    claims=(
        Claim(CHEAPER, "cost_per_correct", "down", same="pass@1", where=("like", "cheap"), vice=16.0, note=NOTE),
        Claim("An expert whom the user likes is asked more often.", "liked", "up", vice=0.7, note=NOTE),
    ),
    base=grpo,
    world=partial(priced, likes=("cheap", "calculator", "python")),
    setting=Setting(model="start", steps=30, held_out=150),
)


def tool_orchestra(base: Method, *, tolerance: float = 0.1) -> Method:
    """Train on siblings that differ, and on the well-formed among them; the format itself earns nothing.

    Args:
        tolerance: groups are left out whose rewards have a smaller standard deviation; 0.1 in the paper.

    Differs: likes are one word of each question, and a user who likes one thing likes nothing else;
    attempts without an answer are left in, as long as they are well formed.
    """
    reward = weighted({"preferred": (1.0, preference_weighted(base=base.reward)), "format": (0.0, well_formed())})
    select = pipe(base.select, drop_equal_groups(tolerance=tolerance), mask_by_channel(channel="format"))
    return replace(base, reward=reward, select=select)
