"""Curriculum with a replaceable list of tasks, for runs of several stages."""

from collections.abc import Sequence
from typing import Any

from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order

__all__ = ["TaskPool", "task_pool"]


def task_pool(tasks: Sequence[Task], *, seed: int = 0, shuffle: bool = True) -> Curriculum:
    """Iterate over tasks as `in_order` does; setting `TaskPool.tasks` starts over with the new tasks.

    Args:
        tasks: at least one.
        seed: of the order.
        shuffle: False keeps the given order.

    Returns:
        A curriculum. The stages `probe` and `choose` label and filter its tasks.

    Raises:
        TaskError: the list is empty, or two tasks share an id.

    Example:
        pool = task_pool(tasks); pool.tasks = [one for one in pool.tasks if one.metadata["probe"] < 1]

    Idea: a later stage selects tasks by the results of an earlier stage.
    """
    return TaskPool(tasks, seed=seed, shuffle=shuffle)


class TaskPool:
    """Curriculum of `task_pool`."""

    def __init__(self, tasks: Sequence[Task], *, seed: int, shuffle: bool):
        self._seed, self._shuffle = seed, shuffle
        self.tasks = tasks

    @property
    def tasks(self) -> Sequence[Task]:
        """Current tasks. Setting them restarts the order."""
        return self._tasks

    @tasks.setter
    def tasks(self, tasks: Sequence[Task]) -> None:
        self._order = in_order(tasks, seed=self._seed, shuffle=self._shuffle)
        self._tasks = tuple(tasks)

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        return self._order.next(step, count)

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Do nothing: the order is independent of results."""

    def state_dict(self) -> dict[str, Any]:
        return self._order.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._order.load_state_dict(state)
