"""Train on the tasks of some kinds alone."""

from collections.abc import Callable, Collection, Hashable

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Task
from handaxe.curricula.in_order import in_order

__all__ = ["only_tasks"]


def only_tasks(*, key: str, among: Collection[str]) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum of the tasks that are of certain kinds.

        {q : q.metadata[key] in among}, in the order that `in_order` gives them

    Args:
        key: of the metadata that names the kind. A task without it is of none.
        among: the kinds that are trained on.

    Returns:
        (tasks, seed) -> curriculum.

    Raises:
        InputError: no kind; when the curriculum is made, no task is of one of them. TaskError: a task's kind is a
            list or the like, which is no name.

    Example:
        only_tasks(key="part", among=("sums",)) of tasks that are sums, words, sums hands out the first and the third

    Idea: a mixture is worth what it adds to each of its parts.
    """
    if not among or isinstance(among, str):
        raise InputError(f"only_tasks takes one kind or more to train on, not {among!r}")
    kinds = frozenset(among)

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        kept = [task for task in tasks if _kind(task, key) in kinds]
        if not kept:
            raise InputError(f"no task has one of {', '.join(sorted(kinds))} as metadata {key!r}")
        return in_order(kept, seed=seed)

    return curriculum


def _kind(task: Task, key: str) -> Hashable:
    kind = task.metadata.get(key)
    if isinstance(kind, Hashable):
        return kind
    raise TaskError(f"task {task.id!r} has {kind!r:.60} as metadata {key!r}; give the name of one kind")
