"""Ask the policy what it can do: play every task some times, and write down how it went."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.curricula.in_order import in_order
from handaxe.curricula.task_pool import TaskPool
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.sources import play_at

__all__ = ["probe", "tasks_of"]

NOTHING: Mapping[str, Any] = {}


def probe(*, label: str = "probe", samples: int = 8, groups: int = 16, arguments: Mapping[str, Any] = NOTHING) -> Stage:
    """Make a stage that plays each task of a `task_pool` and labels it with its mean outcome; nothing trains.

    Args:
        label: the key in `Task.metadata`; a task of which no attempt was scored gets None.
        samples: attempts a task.
        groups: tasks played side by side.
        arguments: further ones of `train`, also in place of the site's roles, such as a rollout without tools.

    Returns:
        A stage: one row of metrics, the number of tasks that have a label, and its mean.

    Raises:
        InputError: the site's tasks are no `task_pool`.

    Example:
        a task of which 2 of 8 attempts are right -> metadata["probe"] = 0.25
    """
    check_train_arguments(arguments)

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = tasks_of(site, "probe")
        steps = -(-len(pool.tasks) // groups)
        once = in_order(pool.tasks, shuffle=False)
        found: dict[str, float] = {}
        played = {"steps": steps, "groups": groups, "group_size": samples, **arguments, "tasks": once}
        for one in play_at(site, played):  # the last step may begin anew with the first tasks: those are the same again
            found.setdefault(one.group.task.id, float(one.scores.outcome.mean()))
        pool.tasks = [replace(one, metadata={**one.metadata, label: found.get(one.id)}) for one in pool.tasks]
        mean = sum(found.values()) / len(found) if found else float("nan")
        return [{"step": 0.0, "tasks": float(len(found)), label: mean}]

    return stage


def tasks_of(site: StageContext, who: str) -> TaskPool:
    """The task pool of a site.

    Raises:
        InputError: its tasks are not a task pool.
    """
    if not isinstance(site.tasks, TaskPool):
        raise InputError(f"{who} changes which tasks there are: make the curriculum by curricula.task_pool(tasks)")
    return site.tasks
