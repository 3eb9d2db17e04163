"""Ophiuchus: the policy first learns from looks at a wrong region that are put right, and then where to look, by RL."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.gate import gate
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.glimpse import elsewhere, glimpse, region_iou
from handaxe.worlds.mistakes import with_mistakes

__all__ = ["ophiuchus"]

TITLE = "Incentivizing Tool-augmented Thinking with Images for Medical Image Analysis"
NEED = ("needs_tool", "yes")
PLAIN = "ophiuchus --mistakes 0"
NOTE = "Unconfirmed: all but the three stages and their aims. Both sides are fine-tuned for as many steps."
AGAIN = "Bad looks are followed by another."
RECIPE = Recipe(
    paper=Paper(TITLE, "Ophiuchus", "2512.14157", 9),
    claims=(
        Claim("Last looks fit.", "iou", "up", baseline=PLAIN, where=NEED, vice=0.95, learned=False, note=NOTE),
        Claim(AGAIN, "second_look", "up", baseline=PLAIN, where=NEED, vice=0.5, learned=False, note=NOTE),
    ),
    base=grpo,
    world=partial(glimpse, kind="grid"),
    setting=Setting(model="start"),
)


def ophiuchus(
    base: Method, *, mistakes: float = 0.5, reflection: int = 30, region: float = 0.5, tool: float = 1.2
) -> Method:
    """Fine-tune on looks that are put right, then train on format, and beyond it on answer, overlap, and looks.

    Differs: a grid, not images. No wrong answer earns as much as a right one.

    Args:
        mistakes: share of the fine-tuning's conversations that begin with a wrong look; unconfirmed.
        reflection: steps of it, 16 conversations each; unconfirmed.
        region: weight of the overlap of the last look, below 1 so that a wrong answer stays behind; unconfirmed.
        tool: weight of looks where the answer is right; unconfirmed, DeepEyes's.
    """
    world = replace(base.world, expert=with_mistakes(base.world.need("expert"), wrong=elsewhere, share=mistakes))
    gained = {"region": (region, region_iou), "tool": (tool, gate(on=base.reward, then=used_tools()))}
    answer = weighted({"answer": (1.0, base.reward), **gained})
    reward = ladder([Rung("format", well_formed(), 1.0), Rung("task", answer)])
    taught = teach_expert(world=world, steps=reflection, batch_size=16)
    return replace(base, reward=reward, stages=(*base.stages, taught))
