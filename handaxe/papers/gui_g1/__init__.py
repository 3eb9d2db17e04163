"""GUI-G1: a box is rewarded by its middle, its overlap and its sides together, and small targets weigh more."""

from functools import partial

from handaxe.credit.transformed import transformed
from handaxe.methods.method import Method, replace
from handaxe.papers.gui_g1.task_weight import task_weight
from handaxe.rewards.box_overlap import box_overlap
from handaxe.rewards.weighted import weighted
from handaxe.worlds.screen.layout import SIDES, difficulty, gold_box, said_box

__all__ = ["gui_g1"]


def gui_g1(base: Method, *, centre: float = 1.0, iou: float = 0.25, edges: float = 0.125) -> Method:
    """Train on three measures of a box, advantages centred and times difficulty.

    Args:
        centre: weight of a middle that lies in the target; 1 in the paper.
        iou: weight of the overlap, alpha; 0.25 in the paper.
        edges: weight of sides that are near, beta; 0.125 in the paper.
    """
    measured = partial(box_overlap, found=said_box, gold=gold_box, sides=SIDES)
    parts = {"centre": (centre, measured(measure="centre")), "iou": (iou, measured(measure="iou"))}
    reward = weighted({**parts, "edges": (edges, measured(measure="edges"))})
    return replace(base, reward=reward, credit=transformed(base.credit, task_weight(weight=difficulty)))
