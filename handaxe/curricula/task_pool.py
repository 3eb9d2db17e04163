"""A curriculum whose tasks may be exchanged between two stages of a run."""

from collections.abc import Sequence
from typing import Any

from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order

__all__ = ["TaskPool", "task_pool"]


def task_pool(tasks: Sequence[Task], *, seed: int = 0, shuffle: bool = True) -> Curriculum:
    """Go through the tasks as `in_order` does, until `TaskPool.tasks` is set: then through those, from the beginning.

    Args:
        tasks: at least one.
        seed: of the order.
        shuffle: False hands them out in the order given.

    Returns:
        A curriculum, which the stages `probe` and `choose` label and narrow.

    Raises:
        TaskError: when there is no task, or two share an id.

    Example:
        pool = task_pool(tasks); pool.tasks = [one for one in pool.tasks if one.metadata["probe"] < 1]

    Idea: what is tried next may depend on what an earlier stage of the run found out.
    """
    return TaskPool(tasks, seed=seed, shuffle=shuffle)


class TaskPool:
    """What `task_pool` returns; implements `slots.Curriculum`."""

    def __init__(self, tasks: Sequence[Task], *, seed: int, shuffle: bool):
        self._seed, self._shuffle = seed, shuffle
        self.tasks = tasks

    @property
    def tasks(self) -> Sequence[Task]:
        """Those that there are; setting them begins anew."""
        return self._tasks

    @tasks.setter
    def tasks(self, tasks: Sequence[Task]) -> None:
        self._order = in_order(tasks, seed=self._seed, shuffle=self._shuffle)
        self._tasks = tuple(tasks)

    def next(self, step: int, count: int) -> list[Task]:
        """The `count` tasks of this step."""
        return self._order.next(step, count)

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Looks at nothing: the order does not depend on what came of the tasks."""

    def state_dict(self) -> dict[str, Any]:
        return self._order.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._order.load_state_dict(state)
