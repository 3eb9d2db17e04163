"""SpaceTools (arXiv:2512.04069): teach by a single-tool specialist and a universal teacher, then explore by RL."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.space_tools.pointing_score import pointing_score
from handaxe.papers.space_tools.teaching_phase import teaching_phase
from handaxe.worlds.spatial.scene import SIDE
from handaxe.worlds.spatial.world import answer_iou, answered_point, gold_point, true_box

__all__ = ["space_tools"]


def space_tools(
    base: Method, *, specialist_steps: int = 6, specialist_tasks: int = 16, teacher: int = 384, batch_size: int = 16
) -> Method:
    """Fine-tune on traces of a pointing specialist and of a teacher with all tools, then train with all tools.

    Args:
        specialist_steps: training steps of the specialist with the tool `locate` alone; 0 for no specialist.
        specialist_tasks: tasks that the specialist plays, a group each; its successes are taught.
        teacher: conversations of the world's expert with all tools; 0 for no teacher.
        batch_size: conversations of an optimizer step of the fine-tuning.
    """
    point = pointing_score(found=answered_point, centre=gold_point, box=true_box, side=SIDE)
    kinds = {"point": point, "box": answer_iou, "depth": base.reward, "x": base.reward}
    method = replace(base, reward=rewards.dispatch(key="kind", rewards=kinds))
    sizes = {"specialist_steps": specialist_steps, "specialist_tasks": specialist_tasks, "teacher": teacher}
    return replace(method, stages=(*base.stages, teaching_phase(method, **sizes, batch_size=batch_size)))
