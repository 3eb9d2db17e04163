"""LongVT (arXiv:2511.20785): reward answer, format and temporal overlap of the last clip with the gold span."""

from handaxe import rewards, selection
from handaxe.methods.method import Method, replace
from handaxe.rewards.box_overlap import Measure
from handaxe.training import stages
from handaxe.training.stages.sources import played
from handaxe.worlds.clips.views import gold_window, last_window

__all__ = ["longvt"]


def longvt(base: Method, *, measure: Measure = "iou", overlap_weight: float = 1.0, rft_tasks: int = 32) -> Method:
    """Train on answer, format and overlap, then fine-tune on the correct rollouts of a last round.

    Args:
        measure: "iou", or "recall", which the paper finds to be hacked by wide clips.
        overlap_weight: weight of the overlap; 1 in the paper.
        rft_tasks: tasks of the last stage, rejection fine-tuning, with 8 rollouts each.
    """
    answer = rewards.within_length(reward=base.reward)
    form = rewards.within_length(reward=rewards.well_formed())
    overlap = rewards.box_overlap(found=last_window, gold=gold_window, measure=measure)
    reward = rewards.weighted({"answer": (1.0, answer), "format": (1.0, form), "time": (overlap_weight, overlap)})
    correct, source = selection.keep_successes(channel="answer"), played(groups=rft_tasks)
    rft = stages.teach(source=source, select=correct, learning_rate=3e-4, optional=True)
    return replace(base, reward=reward, closing=(*base.closing, rft))
