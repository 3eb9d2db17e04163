"""Iterate over tasks in epochs; the weight of a task is its frequency."""

import hashlib
import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Task
from handaxe.curricula.in_order import InOrder
from handaxe.ops.seeds import generator

__all__ = ["ByWeight", "by_weight"]


def by_weight(tasks: Sequence[Task], *, seed: int = 0, key: str = "weight") -> Curriculum:
    """Return each task in proportion to its weight.

        m_i = n w_i / (w_1 + ... + w_n)                     mean number per epoch; an epoch has n tasks on average
        occurrences in epoch e = floor((e + 1) m_i + u_i) - floor(e m_i + u_i),   u_i in [0, 1), seeded

    The occurrences in the first E epochs differ from E m_i by less than 1. The tasks of an epoch are permuted, seeded
    by (seed, e). A repeated request for a step returns the same tasks. Results of the tasks have no influence.

    Args:
        tasks: n >= 1 tasks.
        seed: of the permutations and of u.
        key: metadata key of the weight, a number above 0; 1 for a task without the key.

    Returns:
        A curriculum. Its state is three numbers and a digest of tasks and weights, so a resumed run continues exactly.

    Raises:
        TaskError: the list is empty, two tasks share an id, or a weight is no finite number above 0.
        CheckpointError: the loaded state belongs to other tasks or weights, or to another seed.

    Example:
        tasks a and b of weights 3 and 1: m is 1.5 and 0.5, and six of the first eight tasks are a, up to 1

    Idea: importance of rows in supervised training, as a frequency.
    """
    return ByWeight(tuple(tasks), seed=seed, key=key)


class ByWeight(InOrder):
    """Curriculum of `by_weight`."""

    def __init__(self, tasks: tuple[Task, ...], *, seed: int, key: str):
        super().__init__(tasks, seed=seed, shuffle=True)
        weight = np.array([_weight(task, key) for task in tasks])
        digest = hashlib.blake2b(f"{self._digest} {weight.tolist()}".encode(), digest_size=8)
        self._digest = digest.hexdigest()
        self._mean = weight * (len(tasks) / weight.sum())
        self._offset = generator("by_weight offset", seed).random(len(tasks))
        self._stops = [0]
        """Number of tasks before each epoch."""

    def _slice(self, start: int, count: int) -> list[Task]:
        out: list[Task] = []
        while len(out) < count:
            place = start + len(out)
            while self._stops[-1] <= place:
                self._stops.append(self._stops[-1] + int(self._occurrences(len(self._stops) - 1).sum()))
            epoch = bisect_right(self._stops, place) - 1
            order = np.repeat(np.arange(len(self._tasks)), self._occurrences(epoch))
            order = order[generator("by_weight", self._seed, epoch).permutation(len(order))]
            offset = place - self._stops[epoch]
            out += [self._tasks[k] for k in order[offset : offset + count - len(out)]]
        return out

    def _occurrences(self, epoch: int) -> np.ndarray:
        """Occurrences of each task in an epoch, [n]."""
        upto = np.floor(epoch * self._mean + self._offset)
        return (np.floor((epoch + 1) * self._mean + self._offset) - upto).astype(np.int64)


def _weight(task: Task, key: str) -> float:
    weight = task.metadata.get(key, 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise TaskError(f"task {task.id!r} has {weight!r:.60} as metadata {key!r}; give a number above 0")
    return float(weight)
