"""Iterate over the tasks in epochs, each with a new permutation."""

import hashlib
from collections.abc import Sequence
from typing import Any

from handaxe.core.check_tasks import check_tasks
from handaxe.core.errors import CheckpointError, TaskError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.ops.seeds import generator

__all__ = ["InOrder", "in_order"]


def in_order(tasks: Sequence[Task], *, seed: int = 0, shuffle: bool = True) -> Curriculum:
    """Return every task once before any task twice.

        k-th task = tasks[order_e[k mod n]],   e = k div n,   order_e a permutation seeded by (seed, e)

    A step may cross an epoch boundary. A repeated request for a step returns the same tasks; a request for another step
    continues after the last one. Results of the tasks have no influence.

    Args:
        tasks: n >= 1 tasks.
        seed: of the permutations.
        shuffle: False keeps the given order in every epoch.

    Returns:
        A curriculum. Its state is three numbers and a digest of the task ids, so a resumed run continues exactly.

    Raises:
        TaskError: the list is empty, or two tasks share an id.
        CheckpointError: the loaded state belongs to other tasks or to another seed.

    Example:
        tasks a, b, c, shuffle False, two a step  ->  a b, c a, b c, a b, ...

    Idea: sampling without replacement, the usual order of supervised training.
    """
    return InOrder(tuple(tasks), seed=seed, shuffle=shuffle)


class InOrder:
    """Curriculum of `in_order`."""

    def __init__(self, tasks: tuple[Task, ...], *, seed: int, shuffle: bool):
        check_tasks(tasks)
        ids = [task.id for task in tasks]
        if not ids:
            raise TaskError("the list of tasks is empty; a curriculum needs at least one")
        if len(set(ids)) < len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise TaskError(f"two tasks share the id {twice!r}; give each task a unique id")
        self._tasks = tasks
        self._seed = seed
        self._shuffle = shuffle
        self._digest = hashlib.blake2b(repr((ids, seed, shuffle)).encode(), digest_size=8).hexdigest()
        self._step = -1
        self._start = 0
        self._count = 0

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        if step != self._step:
            self._step, self._start = step, self._start + self._count
        self._count = count
        return self._slice(self._start, count)

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Do nothing: the order is independent of results."""

    def state_dict(self) -> dict[str, Any]:
        return {"tasks": self._digest, "step": self._step, "start": self._start, "count": self._count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["tasks"] != self._digest:
            raise CheckpointError("the checkpoint went through other tasks, or in another order; resume with the same")
        self._step = int(state["step"])
        self._start = int(state["start"])
        self._count = int(state["count"])

    def _slice(self, start: int, count: int) -> list[Task]:
        size = len(self._tasks)
        out: list[Task] = []
        while len(out) < count:
            epoch, offset = divmod(start + len(out), size)
            order = generator("in_order", self._seed, epoch).permutation(size) if self._shuffle else range(size)
            out += [self._tasks[k] for k in order[offset : offset + count - len(out)]]
        return out
