"""ChartMaster: code earns by what its chart has in common with the wanted one, and by how alike the two look."""

from handaxe.methods.method import Method, replace
from handaxe.papers.chartmaster.charts import same_attributes, same_picture
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.used_tools import used_tools
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.teach import teach

__all__ = ["chartmaster"]


def chartmaster(base: Method, *, look: float = 1.0, taught: int = 0) -> Method:
    """Train on the overlap of attributes and the likeness of pictures, 0 where the code draws nothing.

    Args:
        look: weight of the likeness beside the overlap; 1 is unconfirmed.
        taught: how often 15,360 tokens of the expert's are learnt before, which are 160 times 96.
    """
    drew, common = used_tools(tools=("draw",)), same_attributes()
    rungs = [Rung("drew", drew, 0.0), Rung("common", common, above=-1.0), Rung("look", same_picture(), look)]
    told = demonstrated(world=base.world, count=320, tokens=15_360, of_run=True)
    before = repeat(stages=[teach(source=told, batch_size=16, learning_rate=3e-4)], times=taught)
    return replace(base, reward=ladder(rungs), stages=(*base.stages, before))
