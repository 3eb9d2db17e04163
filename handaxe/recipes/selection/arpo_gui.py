"""ARPO for GUI agents: a group in which all failed is given a success of an earlier step."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.revisiting import revisiting
from handaxe.selection.pipe import pipe
from handaxe.selection.success_replay import success_replay
from handaxe.worlds.calls import calls

__all__ = ["arpo_gui"]

TITLE = "ARPO: End-to-End Policy Optimization for GUI Agents with Experience Replay"
RECIPE = Recipe(
    paper=Paper(TITLE, "ARPO-GUI", "2505.16282", 173),
    claims=(
        Claim("Fewer groups fail without a lesson.", "training/groups/zero_low", "down", over="area", vice=1.5),
        Claim("Accuracy ends higher where it is hard.", "pass@1", "up", where=("difficulty", "hard")),
    ),
    base=revisiting,
    world=calls,
    setting=Setting(model="start", group_size=4, max_turns=1, max_tokens=64),
)


def arpo_gui(base: Method, *, most: int = 8, above: float = 0.1) -> Method:
    """Train with a store of each task's successes.

    Args:
        most: successes stored of a task; 8 in the paper.
        above: the reward above which an attempt is one; 0.1 in the paper.
    """
    return replace(base, select=pipe(base.select, success_replay(credit=base.credit, most=most, above=above)))
