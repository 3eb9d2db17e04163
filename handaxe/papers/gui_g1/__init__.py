"""GUI-G1 (arXiv:2505.15810): reward center, overlap and edges of a box together, and weight tasks by difficulty."""

from functools import partial

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.gui_g1.task_weight import task_weight
from handaxe.worlds.screen.widgets import SIDES, difficulty, gold_box, predicted_box

__all__ = ["gui_g1"]


def gui_g1(base: Method, *, centre: float = 1.0, iou: float = 0.25, edges: float = 0.125) -> Method:
    """Reward three measures of the predicted box; multiply centered advantages by the task's difficulty.

    Args:
        centre: weight of a center that lies in the target; 1 in the paper.
        iou: weight of the overlap, alpha; 0.25 in the paper.
        edges: weight of the nearness of the four sides, beta; 0.125 in the paper.
    """
    box = partial(rewards.box_overlap, found=predicted_box, gold=gold_box, sides=SIDES)
    parts = {"centre": (centre, box(measure="centre")), "iou": (iou, box(measure="iou"))}
    reward = rewards.weighted({**parts, "edges": (edges, box(measure="edges"))})
    return replace(base, reward=reward, credit=credit.transformed(base.credit, task_weight(weight=difficulty)))
