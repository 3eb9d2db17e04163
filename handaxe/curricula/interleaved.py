"""Interleave the curricula of several parts of the tasks, in exact proportions."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import CheckpointError, InputError, TaskError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order
from handaxe.ops.seeds import generator
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["Interleaved", "Order", "interleaved"]

Order = Callable[[list[Task], int], Curriculum]
"""(tasks, seed) -> curriculum."""


def interleaved(*, key: str, weights: Mapping[str, int], around: Mapping[str, Order | None]) -> Order:
    """Make a curriculum that mixes parts of the tasks, each part in its own order.

        a cycle has weights[p] places of each part p, permuted by (seed, cycle)
        the k-th place of part p gets the k-th task of the part's curriculum

    Every cycle has exact proportions. A part with few tasks repeats them; its weight is constant. Results of a group go
    to the curriculum of the group's part. A repeated request for a step returns the same tasks.

    Args:
        key: metadata key of the part of a task.
        weights: places per cycle of each part, >= 1.
        around: curriculum of each part; None for `in_order`.

    Returns:
        (tasks, seed) -> curriculum.

    Raises:
        InputError: when the curriculum is made: a part has no task. TaskError: likewise: two parts share a task.

    Example:
        weights {"sum": 2, "fact": 1}: two of every three tasks are sums, in a new order for every three

    Idea: mixing of data sets by weight.
    """

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        parts, owners = dict[str, Curriculum](), dict[str, Any]()
        for task in tasks:
            part = task.metadata.get(key)
            if owners.setdefault(task.id, part) != part:
                raise TaskError(
                    f"two tasks share the id {task.id!r}, in {owners[task.id]!r} and {part!r}: "
                    "keep the task in one part"
                )
        for part in weights:
            own = [task for task in tasks if task.metadata.get(key) == part]
            if not own:
                raise InputError(f"no task has {part!r} as metadata {key!r}; give it tasks, or leave the part out")
            order = around.get(part)
            parts[part] = in_order(own, seed=seed) if order is None else order(own, seed)
        return Interleaved(parts, key, weights, seed)

    return curriculum


class Interleaved(StatefulComposite):
    """Curriculum of `interleaved`."""

    def __init__(self, curricula: Mapping[str, Curriculum], key: str, weights: Mapping[str, int], seed: int):
        self._curricula = curricula
        self._key = key
        self._cycle = [part for part, weight in weights.items() for _ in range(weight)]
        self._seed = seed
        self._step = -1
        self._start = 0
        self._count = 0

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        if step != self._step:
            self._step, self._start = step, self._start + self._count
        self._count = count
        order = self._order(self._start, count)
        counts = Counter(order)
        # Every part advances with the step, also a part without a place.
        drawn = {part: iter(one.next(step, counts[part])) for part, one in self._curricula.items()}
        found = [(part, next(drawn[part], None)) for part in order]
        return [replace(one, metadata={**one.metadata, self._key: part}) for part, one in found if one is not None]

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Pass the results of each part to the curriculum of the part."""
        for part, one in self._curricula.items():
            one.observe([group for group in groups if group.group.task.metadata.get(self._key) == part])

    def parts(self) -> Mapping[str, object]:
        return self._curricula

    def state_dict(self) -> dict[str, Any]:
        own = {"cycle": list(self._cycle), "seed": self._seed}
        own |= {"step": self._step, "start": self._start, "count": self._count}
        return {"own": own, "parts": super().state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        own = state["own"]
        if (own["cycle"], own["seed"]) != (self._cycle, self._seed):
            raise CheckpointError("the checkpoint mixed other parts, weights or seeds; resume with the same")
        super().load_state_dict(state["parts"])
        self._step = int(own["step"])
        self._start = int(own["start"])
        self._count = int(own["count"])

    def _order(self, start: int, count: int) -> list[str]:
        """Parts of the places [start, start + count)."""
        size, out = len(self._cycle), list[str]()
        while len(out) < count:
            cycle, offset = divmod(start + len(out), size)
            order = generator("interleaved", self._seed, cycle).permutation(size)
            out += [self._cycle[k] for k in order[offset : offset + count - len(out)]]
        return out
