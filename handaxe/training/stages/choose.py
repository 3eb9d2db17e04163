"""Choose among the tasks, by what a probe found or otherwise."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Task
from handaxe.training.stages.probe import tasks_of

__all__ = ["choose"]


def choose(*, tasks: Callable[[Sequence[Task]], Sequence[Task]]) -> Stage:
    """Make a stage that replaces the tasks of a `task_pool` by what a function makes of them.

    Args:
        tasks: all tasks in their order -> those that the stages after it train on. Without state, so that it says the
            same again on resume.

    Returns:
        A stage: one row of metrics, how many tasks there were and are.

    Raises:
        InputError: nothing is left; the site's tasks are no `task_pool`.

    Example:
        choose(tasks=lambda all: [one for one in all if 0 < one.metadata["probe"] < 1])
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = tasks_of(site, "choose")
        before = len(pool.tasks)
        kept = list(tasks(tuple(pool.tasks)))
        if not kept:
            raise InputError(f"choose left none of {before} tasks: widen what it lets through")
        pool.tasks = kept
        return [{"step": 0.0, "tasks/before": float(before), "tasks": float(len(kept))}]

    return stage
