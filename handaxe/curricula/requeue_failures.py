"""Curriculum with a replay queue of failed tasks.

Kept: `--curriculum requeue_failures`.
"""

from collections.abc import Callable, Mapping, Sequence
from math import floor
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order
from handaxe.ops.ragged import group_rewards
from handaxe.ops.seeds import generator
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["RequeueFailures", "requeue_failures"]

ROUNDING = 1e-9


def requeue_failures(
    *,
    share: float = 0.25,
    every: int = 1,
    above: float = 0.5,
    around: Callable[[list[Task], int], Curriculum] | None = None,
) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum that draws a share of each step from failed tasks.

        after a group:   R_i <= above for all i  ->  its task waits;   else it leaves the queue
        a step t with t mod `every` = 0 draws up to `share` of its tasks from the queue, without replacement; the others
        come from the wrapped curriculum

    R_i is the outcome plus the per-turn rewards of every scored sibling. The present policy plays waiting tasks again;
    they wait until one rollout succeeds. Repeated requests for a step return the same tasks.

    Args:
        share: rho, in [0, 1]; 0 disables replay.
        every: k, steps between two with replay, >= 1.
        above: highest reward of a failure, in units of reward.
        around: makes the wrapped curriculum; None for `in_order`.

    Returns:
        (tasks, seed) -> curriculum, with the wrapped one's state in its state. A queue shorter than the share is filled
        up from the wrapped curriculum.

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


class RequeueFailures(StatefulComposite):
    """Curriculum made by `requeue_failures`; `waiting` are the ids of failed tasks, the longest wait first."""

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
        """Waiting tasks of the present step, in the order in which they are drawn."""

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        if step != self._step:
            self._step, self._again = step, self._drawn(step)
        room = floor(self._share * count + ROUNDING)
        fresh = iter(self._inner.next(step, count - min(room, len(self._again))))
        again = iter(self._again)
        out = []
        for place in range(count):
            # Spread over the step, so that a larger count keeps the first tasks.
            due = floor(self._share * (place + 1) + ROUNDING) > floor(self._share * place + ROUNDING)
            name = next(again, None) if due else None
            task = next(fresh, None) if name is None else self._tasks[name]
            if task is not None:
                out.append(task)
        return out

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Add failed tasks to the queue, and remove solved ones."""
        self._inner.observe(groups)
        for one in groups:
            reward_G = group_rewards(one.group, one.scores)
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
