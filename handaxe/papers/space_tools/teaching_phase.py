"""Teaching phase of SpaceTools: supervised fine-tuning on traces of a specialist and of a teacher."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.core.records import RatedGroup
from handaxe.methods.method import Method
from handaxe.methods.rl_stage import update_arguments
from handaxe.papers.space_tools.specialist_traces import single_tool_tasks, specialist_traces
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.sources import joined
from handaxe.training.stages.teach import teach

__all__ = ["teaching_phase"]

TOOL = "locate"
"""The specialist's tool."""
KINDS = ("point", "box")
"""Kinds of questions that the tool answers."""
TASKS = 640
"""Training tasks from which those of the specialist are chosen."""


def teaching_phase(
    method: Method, *, specialist_steps: int, specialist_tasks: int, teacher: int, batch_size: int
) -> Stage:
    """Make the stage: successes of a specialist, and conversations of the world's expert with all tools.

    Args:
        method: supplies reward, credit, loss and sizes of the specialist's training.
        specialist_steps: its training steps; 0 for no specialist.
        specialist_tasks: tasks that it plays, a group each.
        teacher: conversations of the expert; 0 for no teacher.
        batch_size: conversations of an optimizer step.

    Returns:
        A stage: metrics of the fine-tuning's steps, with "specialist", the number of its successes; none without a
        specialist and without a teacher.

    Raises:
        InputError: the world has no task of the specialist's kinds.

    Example:
        6 steps with the tool `locate`, 8 groups of 8 traces, and 384 conversations of the expert; successes are taught

    Paper: arXiv:2512.04069 (SpaceTools), the first phase of DIRL.
    Differs: the universal teacher is the world's expert; the paper's is a frontier model.
    Unconfirmed: the numbers of traces.
    """
    own = method.settings
    sizes = {"steps": specialist_steps, "groups": own.groups, "group_size": own.group_size}
    arguments = {**update_arguments(method), **sizes, "learning_rate": own.learning_rate, "reward": method.reward}
    tasks = single_tool_tasks(method.world.tasks("train", TASKS, own.seed), kinds=KINDS, tool=TOOL)
    sources: list[Source] = [specialist_traces(tasks=tasks, arguments=arguments, groups=specialist_tasks)]
    if teacher:
        sources.append(demonstrated(world=method.world, count=teacher, of_run=False, seed=own.seed))
    source = joined(sources=sources)

    def stage(site: StageContext) -> list[dict[str, float]]:
        traces = source(site)
        taught = teach(source=lambda _: traces, select=keep_successes(), batch_size=batch_size, optional=True)
        return [{**row, "specialist": float(_successes(traces))} for row in taught(site)]

    return stage


def _successes(traces: Sequence[RatedGroup]) -> int:
    """Number of the specialist's successes."""
    own = [one for one in traces if tuple(one.group.task.tools or ()) == (TOOL,)]
    return sum(int((one.scores.outcome > 0.5).sum()) for one in own)
