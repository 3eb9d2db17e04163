"""Label every task with the policy's mean outcome."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.curricula.in_order import in_order
from handaxe.curricula.task_pool import TaskPool
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.sources import play_at

__all__ = ["get_task_pool", "probe"]

NOTHING: Mapping[str, Any] = {}


def probe(*, label: str = "probe", samples: int = 8, groups: int = 16, arguments: Mapping[str, Any] = NOTHING) -> Stage:
    """Make a stage that plays each task of a `task_pool` and labels tasks with the mean outcome, without training.

    Args:
        label: key in `Task.metadata`; a task without scored rollouts gets None.
        samples: rollouts per task.
        groups: tasks per step.
        arguments: further arguments of `train`, which may replace the context's roles, such as a rollout without tools.

    Returns:
        A stage: one row of metrics, with the number of labelled tasks and the mean label.

    Raises:
        InputError: the context's tasks are no `task_pool`.

    Example:
        a task with 2 of 8 rollouts correct -> metadata["probe"] = 0.25
    """
    check_train_arguments(arguments)

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = get_task_pool(site, "probe")
        steps = -(-len(pool.tasks) // groups)
        once = in_order(pool.tasks, shuffle=False)
        found: dict[str, float] = {}
        played = {"steps": steps, "groups": groups, "group_size": samples, **arguments, "tasks": once}
        for one in play_at(site, played):  # the last step may wrap to the first tasks, with equal results
            found.setdefault(one.group.task.id, float(one.scores.outcome.mean()))
        pool.tasks = [replace(one, metadata={**one.metadata, label: found.get(one.id)}) for one in pool.tasks]
        mean = sum(found.values()) / len(found) if found else float("nan")
        return [{"step": 0.0, "tasks": float(len(found)), label: mean}]

    return stage


def get_task_pool(site: StageContext, who: str) -> TaskPool:
    """Return the task pool of a context.

    Raises:
        InputError: its tasks are not a task pool.
    """
    if not isinstance(site.tasks, TaskPool):
        raise InputError(f"{who} changes which tasks there are: make the curriculum by curricula.task_pool(tasks)")
    return site.tasks
