"""Environment factory that chooses an environment by the task's metadata, for mixed worlds."""

from collections.abc import Mapping

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Task
from handaxe.envs.inherit_bound import inherit_bound

__all__ = ["task_router"]


def task_router(key: str, envs: Mapping[str, EnvFactory]) -> EnvFactory:
    """Make the environment that a task's metadata names.

    Args:
        key: metadata key with the kind of task.
        envs: environment factory for each kind.

    Returns:
        A factory, bounded by the smallest bound of its factories (`core.protocols.Bounded`).

    Raises:
        InputError: `envs` is empty.
        TaskError: by the factory, for a task without the key or with an unknown kind.

    Example:
        task_router("part", {"sums": tool_chat([calculator]), "words": tool_chat([])})(task) with metadata
        {"part": "words"} offers no tool
    """
    if not envs:
        raise InputError("task_router has no environments; give one for each kind of task")
    known = dict(envs)

    def make(task: Task) -> Env:
        kind = task.metadata.get(key)
        if kind not in known:
            raise TaskError(
                f"task {task.id!r} has metadata {key!r} = {kind!r}; there are environments for "
                f"{', '.join(sorted(known))}"
            )
        return known[kind](task)

    return inherit_bound(make, *known.values())
