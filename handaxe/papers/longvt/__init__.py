"""LongVT: beside the answer, how well the stretch that was looked at last fits the one that was asked about."""

from handaxe.methods.method import Method, replace
from handaxe.rewards.box_overlap import Measure, box_overlap
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.rewards.within_length import within_length
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach
from handaxe.worlds.glimpse.views import gold_region, last_region

__all__ = ["longvt"]


def longvt(base: Method, *, measure: Measure = "iou", time: float = 1.0, played_last: int = 32) -> Method:
    """Train on answer, format, and the overlap of the last look with the stretch asked about.

    The last stage is fine-tuning on what then goes right. A wrong answer in due form after a perfect look earns 2, as
    much as a right one without a look: by the paper's weights.

    Args:
        measure: iou, or recall, which the paper finds to be hacked.
        time: weight of the overlap; 1 in the paper.
        played_last: tasks of which the last stage keeps what goes right, of 8 attempts each.
    """
    right, whole = within_length(reward=base.reward), within_length(reward=well_formed())
    fits = box_overlap(found=last_region, gold=gold_region, measure=measure)
    reward = weighted({"answer": (1.0, right), "format": (1.0, whole), "time": (time, fits)})
    good = keep_successes(channel="answer")
    last = teach(source=played(groups=played_last), select=good, learning_rate=3e-4, optional=True)
    return replace(base, reward=reward, closing=(*base.closing, last))
