"""Try tasks again at which every attempt failed."""

from collections.abc import Callable, Mapping, Sequence
from math import floor
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Rated, Task
from handaxe.curricula.in_order import in_order
from handaxe.ops.composite import Composite
from handaxe.ops.ragged import rewards_of
from handaxe.ops.seeds import generator

__all__ = ["RequeueFailures", "requeue_failures"]

ROUNDING = 1e-9


def requeue_failures(
    *,
    share: float = 0.25,
    every: int = 1,
    above: float = 0.5,
    around: Callable[[list[Task], int], Curriculum] | None = None,
) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum of which a share are tasks that failed before.

        after a group:   R_i <= above for all i  ->  its task waits;   else it waits no longer
        a step t with t mod `every` = 0 has up to `share` of its tasks from those that wait, drawn without replacement,
        the others from the curriculum around which this one stands

    R_i is the outcome plus the per-turn rewards of every sibling that was scored. What waits is played anew by the
    policy of now, and goes on waiting until one of its attempts succeeds. A step asked for again is the same step.

    Args:
        share: rho, in [0, 1]; 0 requeues nothing.
        every: k, steps between two that requeue, >= 1.
        above: the reward that is a failure and no more, in units of reward.
        around: makes the curriculum of all other tasks; None: `in_order`.

    Returns:
        (tasks, seed) -> curriculum, with the other one's state in its own. Where fewer wait than there is room for, the
        step has more of the others.

    Raises:
        InputError: a number out of range.

    Example:
        share 0.25, eight tasks a step, f and g wait: the fourth and the eighth task are f and g, in some order

    Paper: arXiv:2509.21842 (DeepTravel), replay-augmented reinforcement learning.
    Unconfirmed: share, every, and that a single success ends the wait.
    Differs: nothing known.
    """
    if not 0 <= share <= 1 or every < 1:
        raise InputError(f"share is {share} and every {every}; give 0 to 1, and 1 or more")

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        inner = in_order(tasks, seed=seed) if around is None else around(tasks, seed)
        return RequeueFailures(inner, tasks, seed, share, every, above)

    return curriculum


class RequeueFailures(Composite):
    """What `requeue_failures` makes; `waiting` are the ids of tasks that failed, the longest first."""

    def __init__(
        self,
        inner: Curriculum,
        tasks: Sequence[Task],
        seed: int,
        share: float,
        every: int,
        above: float,
    ):
        self.waiting: list[str] = []
        self._inner = inner
        self._tasks = {task.id: task for task in tasks}
        self._seed = seed
        self._share = share
        self._every = every
        self._above = above
        self._step = -1
        self._again: list[str] = []
        """Those of the step at hand, in the order in which they are tried."""

    def next(self, step: int, count: int) -> list[Task]:
        """The `count` tasks of this step."""
        if step != self._step:
            self._step, self._again = step, self._drawn(step)
        room = floor(self._share * count + ROUNDING)
        fresh = iter(self._inner.next(step, count - min(room, len(self._again))))
        again = iter(self._again)
        out = []
        for place in range(count):
            # Spread over the step, so that the first tasks of a step stay the same when more are asked for.
            due = floor(self._share * (place + 1) + ROUNDING) > floor(self._share * place + ROUNDING)
            name = next(again, None) if due else None
            task = next(fresh, None) if name is None else self._tasks[name]
            if task is not None:
                out.append(task)
        return out

    def observe(self, groups: Sequence[Rated]) -> None:
        """Which tasks failed, and which no longer do."""
        self._inner.observe(groups)
        for one in groups:
            reward_G = rewards_of(one.group, one.scores)
            reward_G = reward_G[~np.isnan(reward_G)]
            name = one.group.task.id
            if not len(reward_G) or name not in self._tasks:
                continue
            failed = bool((reward_G <= self._above).all())
            if failed and name not in self.waiting:
                self.waiting.append(name)
            elif not failed and name in self.waiting:
                self.waiting.remove(name)

    def parts(self) -> Mapping[str, object]:
        return {"inner": self._inner}

    def state_dict(self) -> dict[str, Any]:
        own = {"waiting": list(self.waiting), "step": self._step, "again": list(self._again)}
        return own | super().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.waiting, self._again = list(state["waiting"]), list(state["again"])
        self._step = int(state["step"])

    def _drawn(self, step: int) -> list[str]:
        if step % self._every or not self._share:
            return []
        order = generator("requeue_failures", self._seed, step).permutation(len(self.waiting))
        return [self.waiting[int(k)] for k in order]
