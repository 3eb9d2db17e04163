"""Leave out tasks that the policy has learned."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Rated, Task
from handaxe.curricula.in_order import in_order
from handaxe.ops.composite import Composite
from handaxe.ops.ragged import rewards_of

__all__ = ["PruneSolved", "prune_solved"]


def prune_solved(
    *,
    rate: float = 0.9,
    above: float = 0.5,
    channel: str | None = None,
    around: Callable[[list[Task], int], Curriculum] | None = None,
) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum that goes on without the tasks whose last group was nearly all right.

        task q leaves when the share of its siblings with R_i > above is at least `rate`

    R_i is the outcome plus the per-turn rewards of every sibling that was scored. A task leaves after its group; that
    is after the epoch, since no epoch hands out a task twice. What is left out is skipped, in the order of the
    curriculum around which this one stands. A step asked for again is the same step, whatever came of it since.

    Args:
        rate: the share of right siblings from which on a task is learned, in (0, 1]; 0.9 in the paper.
        above: in units of reward.
        channel: judge this channel of the scores instead of the whole reward; where there is none of that name, the
            only one that a reward around it calls ".../NAME".
        around: makes the curriculum whose tasks are handed out; None: `in_order`.

    Returns:
        (tasks, seed) -> curriculum, with the other one's state in its own. Where no task is left, all come back.

    Raises:
        InputError: a rate out of range; a channel that some group lacks.

    Example:
        tasks a, b, c, two a step, in order; a solved by all of its siblings, b and c by half  ->  a b, c b, c b, ...

    Paper: arXiv:2509.24107 (Fathom-DeepResearch), RAPO's curriculum pruning.
    Unconfirmed: whether what was left out comes back.
    Differs: nothing known.
    """
    if not 0 < rate <= 1:
        raise InputError(f"prune_solved takes a rate above 0 and up to 1, not {rate}")

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        inner = in_order(tasks, seed=seed) if around is None else around(tasks, seed)
        return PruneSolved(inner, len(tasks), rate, above, channel)

    return curriculum


class PruneSolved(Composite):
    """What `prune_solved` makes; `solved` are the ids of the tasks that are left out."""

    def __init__(self, inner: Curriculum, size: int, rate: float, above: float, channel: str | None):
        self.solved: set[str] = set()
        self._inner = inner
        self._size = size
        self._rate = rate
        self._above = above
        self._channel = channel
        self._step = -1
        self._out: set[str] = set()
        """Those that the step at hand leaves out."""

    def next(self, step: int, count: int) -> list[Task]:
        """The `count` tasks of this step."""
        if step != self._step:
            self._step, self._out = step, set(self.solved)
        asked = count
        while True:
            drawn = self._inner.next(step, asked)
            kept = [task for task in drawn if task.id not in self._out]
            if len(kept) >= count or len(drawn) < asked:
                return kept[:count]
            if len(drawn) >= self._size and all(task.id in self._out for task in drawn[-self._size :]):
                self.solved, self._out = set(), set()
                asked = count
            else:
                asked += count - len(kept)

    def observe(self, groups: Sequence[Rated]) -> None:
        """Which tasks were solved, and which no longer are."""
        self._inner.observe(groups)
        for one in groups:
            reward_G = rewards_of(one.group, one.scores, channel=self._channel)
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
