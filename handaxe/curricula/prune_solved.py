"""Curriculum without learned tasks.

Kept: `--curriculum prune_solved`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order
from handaxe.ops.ragged import group_rewards
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["PruneSolved", "prune_solved"]


def prune_solved(
    *,
    rate: float = 0.9,
    above: float = 0.5,
    channel: str | None = None,
    around: Callable[[list[Task], int], Curriculum] | None = None,
) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum without tasks of a nearly correct last group.

        task q is dropped if the share of its siblings with R_i > above is at least `rate`

    R_i is the outcome plus the per-turn rewards of every scored sibling. A task is dropped after its group, which
    equals the end of the epoch, since no epoch repeats a task. Dropped tasks are skipped in the order of the wrapped
    curriculum. Repeated requests for a step return the same tasks.

    Args:
        rate: share of correct siblings from which on a task is learned, in (0, 1]; 0.9 in the paper.
        above: reward above which a sibling is correct, in units of reward.
        channel: score channel in place of the whole reward; without a channel of that name, the only one that a
            wrapping reward names ".../NAME".
        around: makes the wrapped curriculum; None for `in_order`.

    Returns:
        (tasks, seed) -> curriculum, with the wrapped one's state in its state. If no task is left, all return.

    Raises:
        InputError: a rate out of range; a channel that some group lacks.

    Example:
        tasks a, b, c, two a step, in order; a solved by all of its siblings, b and c by half  ->  a b, c b, c b, ...

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), RAPO's curriculum pruning.
    Unconfirmed: whether dropped tasks return.
    Differs: nothing known.
    """
    if not 0 < rate <= 1:
        raise InputError(f"prune_solved takes a rate above 0 and up to 1, not {rate}")

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        inner = in_order(tasks, seed=seed) if around is None else around(tasks, seed)
        return PruneSolved(inner, len(tasks), rate, above, channel)

    return curriculum


class PruneSolved(StatefulComposite):
    """Curriculum made by `prune_solved`; `solved` are the ids of the dropped tasks."""

    def __init__(self, inner: Curriculum, size: int, rate: float, above: float, channel: str | None):
        self.solved: set[str] = set()
        self._inner = inner
        self._size = size
        self._rate = rate
        self._above = above
        self._channel = channel
        self._step = -1
        self._out: set[str] = set()
        """Ids that the present step skips."""

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        if step != self._step:
            self._step, self._out = step, set(self.solved)
        request = count
        while True:
            drawn = self._inner.next(step, request)
            open_tasks = [task for task in drawn if task.id not in self._out]
            if len(open_tasks) >= count or len(drawn) < request:
                return open_tasks[:count]
            if len(drawn) >= self._size and all(task.id in self._out for task in drawn[-self._size :]):
                self.solved, self._out = set(), set()
                request = count
            else:
                request += count - len(open_tasks)

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Mark solved tasks, and unmark failed tasks."""
        self._inner.observe(groups)
        for one in groups:
            reward_G = group_rewards(one.group, one.scores, channel=self._channel)
            reward_G = reward_G[~np.isnan(reward_G)]
            if len(reward_G) and (reward_G > self._above).mean() >= self._rate:
                self.solved.add(one.group.task.id)
            elif len(reward_G):
                self.solved.discard(one.group.task.id)

    def parts(self) -> Mapping[str, object]:
        return {"inner": self._inner}

    def state_dict(self) -> dict[str, Any]:
        own = {"solved": sorted(self.solved), "step": self._step, "out": sorted(self._out)}
        return own | super().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.solved, self._out = set(state["solved"]), set(state["out"])
        self._step = int(state["step"])
