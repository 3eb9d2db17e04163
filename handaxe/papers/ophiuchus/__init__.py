"""Ophiuchus: the policy first learns from looks at a wrong region that are put right, and then where to look, by RL."""

from handaxe.methods.method import Method, replace
from handaxe.rewards.gate import gate
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.glimpse.world import elsewhere, region_iou
from handaxe.worlds.parts.mistakes import with_mistakes

__all__ = ["ophiuchus"]


def ophiuchus(
    base: Method, *, mistakes: float = 0.5, reflection: int = 30, region: float = 0.5, tool: float = 1.2
) -> Method:
    """Fine-tune on looks that are put right, then train on format, and beyond it on answer, overlap, and looks.

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
