"""Curriculum restricted to some kinds of tasks.

Kept: `--curriculum only_tasks`.
"""

from collections.abc import Callable, Hashable, Sequence

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Task
from handaxe.curricula.in_order import in_order

__all__ = ["only_tasks"]


def only_tasks(*, key: str, among: Sequence[str]) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum of the tasks of some kinds.

        {q : q.metadata[key] in among}, in the order of `in_order`

    Args:
        key: metadata key of the kind. A task without it has no kind.
        among: kinds to train on.

    Returns:
        (tasks, seed) -> curriculum.

    Raises:
        InputError: no kind; when the curriculum is made, no task of these kinds.
        TaskError: a task's kind is not hashable, such as a list.

    Example:
        only_tasks(key="part", among=("sums",)) of tasks of the kinds sums, words, sums yields the first and the third

    Idea: training on one part measures the value of the mixture.
    """
    if not among or isinstance(among, str):
        raise InputError(f"only_tasks takes a list of at least one kind, not {among!r}")
    kinds = frozenset(among)

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        chosen = [task for task in tasks if _kind(task, key) in kinds]
        if not chosen:
            raise InputError(f"no task has one of {', '.join(sorted(kinds))} as metadata {key!r}")
        return in_order(chosen, seed=seed)

    return curriculum


def _kind(task: Task, key: str) -> Hashable:
    kind = task.metadata.get(key)
    if isinstance(kind, Hashable):
        return kind
    raise TaskError(f"task {task.id!r} has {kind!r:.60} as metadata {key!r}; give the name of one kind")
