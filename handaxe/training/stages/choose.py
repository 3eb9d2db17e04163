"""Filter a run's tasks, for example by a probe's labels."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Task
from handaxe.training.stages.probe import get_task_pool

__all__ = ["choose"]


def choose(*, tasks: Callable[[Sequence[Task]], Sequence[Task]]) -> Stage:
    """Make a stage that replaces the tasks of a `task_pool` by a function of them.

    Args:
        tasks: all tasks in order -> tasks of the following stages. Stateless, so that resume gives the same tasks.

    Returns:
        A stage: one row of metrics, with the numbers of tasks before and after.

    Raises:
        InputError: no task is left, or the context's tasks are no `task_pool`.

    Example:
        choose(tasks=lambda all: [one for one in all if 0 < one.metadata["probe"] < 1])
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = get_task_pool(site, "choose")
        before = len(pool.tasks)
        kept = list(tasks(tuple(pool.tasks)))
        if not kept:
            raise InputError(f"choose left none of {before} tasks: widen what it lets through")
        pool.tasks = kept
        return [{"step": 0.0, "tasks/before": float(before), "tasks": float(len(kept))}]

    return stage
