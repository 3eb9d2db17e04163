"""GUI-G1: a box is rewarded by its middle, its overlap and its sides together, and small targets weigh more."""

from handaxe.credit.shaped import shaped
from handaxe.credit.task_weight import task_weight
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.dr_grpo import dr_grpo
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.weighted import weighted
from handaxe.worlds.screen import screen
from handaxe.worlds.screen_layout import SIDES, difficulty, gold_box, said_box

__all__ = ["gui_g1"]

TITLE = "GUI-G1: Understanding R1-Zero-Like Training for Visual Grounding in GUI Agents"
HIT = "gui_g1 --iou 0 --edges 0"
OVERLAP = "gui_g1 --centre 0 --edges 0"
NOTE = "The screen is told in words. The start draws boxes loosely, with their middle in the target."
RECIPE = Recipe(
    paper=Paper(TITLE, "GUI-G1", "2505.15810", 118),
    claims=(
        Claim("Boxes overlap more than by hits alone.", "iou", "up", baseline=HIT, same="pass@1", vice=0.8, note=NOTE),
        Claim("More hits than by overlap alone.", "pass@1", "up", baseline=OVERLAP, vice=0.97, note=NOTE),
    ),
    base=partial(dr_grpo, max_length=64),
    world=partial(screen, answer="box", boxes=2, loose=0.2),
    setting=Setting(model="start", max_turns=1),
)


def gui_g1(base: Method, *, centre: float = 1.0, iou: float = 0.25, edges: float = 0.125) -> Method:
    """Train on three measures of a box, advantages centred and times difficulty.

    Differs: no image; temperature 1. Unconfirmed: that the difficulty is by area.

    Args:
        centre: weight of a middle that lies in the target; 1 in the paper.
        iou: weight of the overlap, alpha; 0.25 in the paper.
        edges: weight of sides that are near, beta; 0.125 in the paper.
    """
    measured = partial(box_overlap, found=said_box, gold=gold_box, sides=SIDES)
    parts = {"centre": (centre, measured(measure="centre")), "iou": (iou, measured(measure="iou"))}
    reward = weighted({**parts, "edges": (edges, measured(measure="edges"))})
    return replace(base, reward=reward, credit=shaped(base.credit, task_weight(weight=difficulty)))
