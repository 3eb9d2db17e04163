"""ChartMaster: code earns by what its chart has in common with the wanted one, and by how alike the two look."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.used_tools import used_tools
from handaxe.training.demonstrated import demonstrated
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.teach import teach
from handaxe.worlds.charts import charts, same_attributes, same_picture

__all__ = ["chartmaster"]

TITLE = (
    "ChartMaster: Advancing Chart-to-Code Generation with Real-World Charts and Chart Similarity Reinforcement Learning"
)
TAUGHT = "chartmaster --steps 1 --learning-rate 0 --taught 1"
NOTE = (
    "Charts are told in words; weights and features are unconfirmed. The baseline learns from as many tokens as "
    "attempts of one turn may have at most, and is evaluated after a step that changes nothing."
)
RECIPE = Recipe(
    paper=Paper(TITLE, "ChartMaster", "2508.17608", 84),
    claims=(Claim("More in common than after more SFT.", "attributes", "up", baseline=TAUGHT, vice=0.9, note=NOTE),),
    world=charts,
    setting=Setting(model="start", steps=10, groups=4, group_size=4, max_tokens=96, held_out=40),
)


def chartmaster(base: Method, *, look: float = 1.0, taught: int = 0) -> Method:
    """Train on the overlap of attributes and the likeness of pictures, 0 where the code draws nothing.

    Args:
        look: weight of the likeness beside the overlap; 1 is unconfirmed.
        taught: how often 15,360 tokens of the expert's are learnt before, which are 160 times 96.

    Differs: charts are told in words and not shown; likeness by random features and not by a trained network.
    """
    drew, common = used_tools(tools=("draw",)), same_attributes()
    rungs = [Rung("drew", drew, 0.0), Rung("common", common, above=-1.0), Rung("look", same_picture(), look)]
    told = demonstrated(world=base.world, count=320, tokens=15_360, of_run=True)
    before = repeat(stages=[teach(source=told, batch_size=16, learning_rate=3e-4)], times=taught)
    return replace(base, reward=ladder(rungs), stages=(*base.stages, before))
