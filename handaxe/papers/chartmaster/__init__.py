"""ChartMaster (arXiv:2508.17608): reward plotting code by shared attributes and by visual similarity of its chart."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.chartmaster.chart_code import attribute_overlap, picture_similarity
from handaxe.rewards.ladder import Rung
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.teach import teach

__all__ = ["chartmaster"]


def chartmaster(base: Method, *, visual_weight: float = 1.0, sft_rounds: int = 0) -> Method:
    """Add attribute overlap and image similarity; code that draws nothing earns 0.

    Args:
        visual_weight: weight of the image similarity, next to 1 for the attributes. 1 is unconfirmed.
        sft_rounds: rounds of supervised fine-tuning before the run, each of 15,360 expert tokens, which are 160 times
            96; for the comparison with further fine-tuning.
    """
    drew, attributes = rewards.used_tools(tools=("draw",)), attribute_overlap()
    rungs = [
        Rung("drew", drew, 0.0),
        Rung("common", attributes, above=-1.0),
        Rung("look", picture_similarity(), visual_weight),
    ]
    source = demonstrated(world=base.world, count=320, tokens=15_360, of_run=True)
    sft = repeat(stages=[teach(source=source, batch_size=16, learning_rate=3e-4)], times=sft_rounds)
    return replace(base, reward=rewards.ladder(rungs), stages=(*base.stages, sft))
