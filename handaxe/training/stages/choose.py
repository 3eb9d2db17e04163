"""Filter a run's tasks, for example by a probe's labels."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Task
from handaxe.training.stages.parts.read_label import read_label
from handaxe.training.stages.probe import get_task_pool

__all__ = ["choose"]


def choose(*, tasks: Callable[[Sequence[Task]], Sequence[Task]], label: str = "") -> Stage:
    """Make a stage that replaces the tasks of a `task_pool` by a function of them.

    Args:
        tasks: all tasks in order -> tasks of the following stages. Stateless, so that resume gives the same tasks.
        label: metadata key of a number, whose means before and after are in the metrics; "" for none.

    Returns:
        A stage: one row of metrics, with the numbers of tasks before and after, and with a label its mean over
        tasks that have it, before and after ("LABEL/before", "LABEL"), and the difference "LABEL/fall", before - after.

    Raises:
        InputError: no task is left, or the context's tasks are no `task_pool`.

    Example:
        choose(tasks=lambda all: [one for one in all if 0 < one.metadata["probe"] < 1])
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = get_task_pool(site, "choose")
        given = tuple(pool.tasks)
        kept = list(tasks(given))
        if not kept:
            raise InputError(f"choose left none of {len(given)} tasks: widen what it lets through")
        pool.tasks = kept
        counts = {"tasks/before": float(len(given)), "tasks": float(len(kept))}
        return [{"step": 0.0, **counts, **_means(given, kept, label)}]

    return stage


def _means(given: Sequence[Task], kept: Sequence[Task], label: str) -> dict[str, float]:
    if not label:
        return {}
    known = [[value for one in tasks if (value := read_label(one, label)) is not None] for tasks in (given, kept)]
    before, after = (sum(values) / len(values) if values else float("nan") for values in known)
    return {f"{label}/before": before, label: after, f"{label}/fall": before - after}
