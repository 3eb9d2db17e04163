"""Curriculum of stages: one kind of task after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order
from handaxe.curricula.interleaved import Order
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["TaskStages", "staged"]


def staged(*, key: str, parts: Sequence[str], switch: int) -> Order:
    """Make a curriculum with tasks of one part for `switch` steps, and of the other part afterwards.

        part of step t = parts[0] for t < switch, else parts[1]

    Each part has its own order. A repeated request for a step returns the same tasks.

    Args:
        key: metadata key of the part of a task.
        parts: both, the first stage first.
        switch: steps of the first stage, 1 or more.

    Returns:
        (tasks, seed) -> curriculum.

    Raises:
        InputError: another number of parts; switch below 1; when the curriculum is made, a part has no task.

    Example:
        parts ("change", "make"), switch 10: steps 0 to 9 have edits alone, later ones generations alone

    Paper: arXiv:2509.04548 (UniPic2), Progressive Dual-Task Reinforcement: reinforcement for each task in stages.
    Differs: tasks of a metadata key; the paper has a data set and a reward model for each stage.
    """
    if len(parts) != 2 or switch < 1:
        raise InputError(f"staged has the parts {list(parts)} and switch={switch}; give two parts, and 1 step or more")

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        made = dict[str, Curriculum]()
        for part in parts:
            own = [task for task in tasks if task.metadata.get(key) == part]
            if not own:
                raise InputError(f"no task has {part!r} as metadata {key!r}: choose a world with both kinds")
            made[part] = in_order(own, seed=seed)
        return TaskStages(made, key, switch)

    return curriculum


class TaskStages(StatefulComposite):
    """Curriculum of `staged`."""

    def __init__(self, curricula: Mapping[str, Curriculum], key: str, switch: int):
        self._curricula = curricula
        self._key = key
        self._switch = switch

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        first, second = self._curricula.values()
        return (first if step < self._switch else second).next(step, count)

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Pass the results of each part to the curriculum of the part."""
        for part, one in self._curricula.items():
            one.observe([group for group in groups if group.group.task.metadata.get(self._key) == part])

    def parts(self) -> Mapping[str, object]:
        return self._curricula
