"""Environments by what a task says of itself, for worlds that mix several kinds."""

from collections.abc import Mapping

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Task
from handaxe.envs.bounded_as import bounded_as

__all__ = ["by_task"]


def by_task(key: str, envs: Mapping[str, EnvFactory]) -> EnvFactory:
    """Make for each task the environment of its kind.

    Args:
        key: of the metadata that names the kind.
        envs: by kind; one is made for each attempt, and what it offers, answers and reports is its own.

    Returns:
        A factory. Where one of them bounds how many may be open (`slots.Bounded`), so does it, by the least of them.

    Raises:
        InputError: no environments. TaskError: by the factory, for a task without the key or of an unknown kind.

    Example:
        by_task("part", {"sums": tool_chat([calculator]), "words": tool_chat([])})(task), where the task's metadata
        has {"part": "words"}, offers no tool
    """
    if not envs:
        raise InputError("by_task has no environments to choose from; give one for each kind of task")
    known = dict(envs)

    def make(task: Task) -> Env:
        kind = task.metadata.get(key)
        if kind not in known:
            raise TaskError(
                f"task {task.id!r} has {kind!r} as metadata {key!r}; there are environments for "
                f"{', '.join(sorted(known))}"
            )
        return known[kind](task)

    return bounded_as(make, *known.values())
