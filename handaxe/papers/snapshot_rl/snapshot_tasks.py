"""Curriculum: tasks of the drawn snapshots in the first steps, then the usual tasks."""

from collections.abc import Callable, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order
from handaxe.papers.snapshot_rl.snapshot_store import SnapshotStore

__all__ = ["SnapshotTasks", "snapshot_tasks"]

Order = Callable[[list[Task], int], Curriculum]


def snapshot_tasks(*, store: SnapshotStore, steps: int, after: Order | None = None) -> Order:
    """Make a curriculum that plays snapshots for a number of steps, then another curriculum.

        tasks(step)  =  tasks of the snapshots drawn for the step      0 <= step < S
                        tasks of `after`                               otherwise

    Args:
        store: draws the snapshots; its stage has run before the first step.
        steps: S, >= 0; 0 never plays snapshots. 100,000 of 1,000,000 environment steps in the paper's scripts.
        after: (tasks, seed) -> curriculum of the true starts; None is `in_order`.

    Returns:
        (tasks, seed) -> curriculum. Its state is that of `after`.

    Raises:
        InputError: steps below 0.

    Example:
        steps 2: steps 0 and 1 have tasks of snapshots, step 2 the first tasks of `after`

    Paper: arXiv:2403.00673 (SnapshotRL), snapshots in the first phase, then the original environment.
    Differs: the phase is counted in training steps.
    """
    if steps < 0:
        raise InputError(f"steps is {steps}; give 0 or more training steps with snapshots")

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        usual = in_order(tasks, seed=seed) if after is None else after(tasks, seed)
        return SnapshotTasks(store, steps, usual, seed)

    return curriculum


class SnapshotTasks:
    """Curriculum of `snapshot_tasks`."""

    def __init__(self, store: SnapshotStore, steps: int, after: Curriculum, seed: int):
        self._store = store
        self._steps = steps
        self._after = after
        self._seed = seed

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        if 0 <= step < self._steps:
            return self._store.draw(step, count, seed=self._seed)
        return self._after.next(step, count)

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Pass the groups of true starts on."""
        self._after.observe([one for one in groups if one.group.step >= self._steps])

    def state_dict(self) -> dict[str, Any]:
        """State of `after`."""
        return self._after.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore `after`."""
        self._after.load_state_dict(state)
