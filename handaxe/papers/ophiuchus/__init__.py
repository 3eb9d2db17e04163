"""Ophiuchus (arXiv:2512.14157): fine-tune on corrected looks, then train with the task's own measure and tool use."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.rewards.ladder import Rung
from handaxe.training.stages import teach_expert
from handaxe.worlds.parts.mistakes import add_mistakes
from handaxe.worlds.slides.world import answer_iou, mask_dice, other_look

__all__ = ["ophiuchus"]


def ophiuchus(
    base: Method,
    *,
    mistakes: float = 0.5,
    reflection_steps: int = 20,
    overlap_weight: float = 0.5,
    tool_weight: float = 1.2,
) -> Method:
    """Fine-tune on expert conversations with corrected mistakes, then train on format, answer, overlap and tool use.

    Args:
        mistakes: share of fine-tuning conversations that start with a zoom to a wrong cell. Unconfirmed.
        reflection_steps: fine-tuning steps, of 16 conversations each. Unconfirmed.
        overlap_weight: weight of IoU (boxes) and Dice (areas); below 1, so that wrong answers earn less. Unconfirmed.
        tool_weight: bonus of tool use with a correct answer, as in DeepEyes. Unconfirmed.
    """
    expert = add_mistakes(base.world.need("expert"), wrong=other_look, share=mistakes)
    sft = teach_expert(world=replace(base.world, expert=expert), steps=reflection_steps, batch_size=16)
    tool = rewards.gate(on=base.reward, then=rewards.used_tools())
    overlap = rewards.dispatch(key="kind", rewards={"box": answer_iou, "area": mask_dice, "at": base.reward})
    parts = {"answer": (1.0, base.reward), "overlap": (overlap_weight, overlap), "tool": (tool_weight, tool)}
    rungs = [Rung("format", rewards.well_formed(), 1.0), Rung("task", rewards.weighted(parts))]
    return replace(base, reward=rewards.ladder(rungs), stages=(*base.stages, sft))
