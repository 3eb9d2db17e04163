"""Begin attempts late in the latest success of their task, and earlier once that is solved."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Rated, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.ragged import rewards_of
from handaxe.selection.parts.stored import alone, begins_again, dump, load

__all__ = ["RollbackStarts", "rollback_starts"]


def rollback_starts(
    *, above: float = 0.5, solved: float = 0.5, channel: str | None = None, tasks: int = 4096
) -> "RollbackStarts":
    """Make a store of the latest success of each task, and of how far before its end attempts begin.

        start(task)  =  (success, turn N - d)            N: its turns, the last d of which are played anew
        d = 1 at first;  d + 1 once at least `solved` of the siblings of a group that began there had R_i > above

    Where N - d is no turn after the first, the task is played from its beginning. A new success takes the place of the
    old one, and d stays. R_i is the outcome plus the rewards of turns, or a channel.

    Args:
        above: the reward that is no success yet, in units of reward.
        solved: share of a group, in (0, 1].
        channel: judge this channel of the scores instead.
        tasks: tasks of which a success is stored; beyond that, the one that has had none for the longest is forgotten.

    Returns:
        A store: called with an attempt, it says (trajectory, turn) or None, for `restarting`; it learns as a `Learner`
        once a step from all rated groups, whose metrics are stored (tasks), depth (mean d) and solved (share of
        restarted groups; 0 without any). Not stored are unscored attempts, those of one turn, and those that no attempt
        can begin in, as `ops.going_back` tells. A task that is opened in other words than then has no place.

    Raises:
        InputError: a number out of range.

    Example:
        a success of four turns is stored  ->  turn 3; of four that began there two are right  ->  turn 2

    Paper: arXiv:2512.24873 (ROME), chunk-initialised resampling with sequential rollback.
    Unconfirmed: the schedule, here by share of a group; the paper's text was not at hand.
    Differs: the store holds the policy's own successes, not an expert's.
    """
    if not 0 < solved <= 1 or tasks < 1:
        raise InputError(f"solved is {solved} and tasks {tasks}; give above 0 and at most 1, and 1 or more")
    return RollbackStarts(above, solved, channel, tasks)


class RollbackStarts:
    """The store that `rollback_starts` describes; `stored` maps a task's id to its success, a rated group of one, and
    `depth` to d."""

    def __init__(self, above: float, solved: float, channel: str | None, tasks: int):
        self.stored: dict[str, Rated] = {}
        self.depth: dict[str, int] = {}
        self._above = above
        self._solved = solved
        self._channel = channel
        self._tasks = tasks

    def __call__(self, attempt: Attempt) -> tuple[Trajectory, int] | None:
        """Where an attempt at its task begins."""
        found = self.stored.get(attempt.task.id)
        if found is None or not begins_again(found.group[0], attempt.task):
            return None
        (success,) = found.group
        turn = len(success.turns) - self.depth[attempt.task.id]
        return (success, turn) if turn > 0 else None

    def learn(self, groups: Sequence[Rated], *, step: int) -> Mapping[str, float]:
        """Take what succeeded, and go back where a start was solved."""
        del step
        solved = []
        for one in groups:
            right_G = self.right(one)
            began_G = np.array([t.branch_of is not None for t in one.group]) & ~np.isnan(right_G)
            if began_G.any():
                solved.append(float(right_G[began_G].mean()) >= self._solved)
                self._go_back(one.group.task.id, solved=solved[-1])
            self._store(one, right_G == 1)
        depths = [self.depth[name] for name in self.stored]
        return {
            "stored": float(len(self.stored)),
            "depth": float(np.mean(depths)) if depths else 0.0,
            "solved": float(np.mean(solved)) if solved else 0.0,
        }

    def right(self, one: Rated) -> np.ndarray:
        """[G]: 1 a success, 0 none, NaN unknown."""
        reward_G = rewards_of(one.group, one.scores, channel=self._channel)
        return np.where(np.isnan(reward_G), np.nan, reward_G > self._above)

    def state_dict(self) -> dict[str, Any]:
        return {"tasks": [[name, self.depth[name], dump(one)] for name, one in self.stored.items()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stored = {name: load(one) for name, _, one in state["tasks"]}
        self.depth = {name: int(depth) for name, depth, _ in state["tasks"]}

    def _go_back(self, name: str, *, solved: bool) -> None:
        if solved and name in self.stored:
            most = len(self.stored[name].group[0].turns)  # beyond it there is nothing to go back to
            self.depth[name] = min(self.depth[name] + 1, most)

    def _store(self, one: Rated, right_G: np.ndarray) -> None:
        name = one.group.task.id
        right = [int(i) for i in np.flatnonzero(right_G)]
        able = [i for i in right if len(one.group[i].turns) > 1 and begins_again(one.group[i])]
        if able:
            self.stored.pop(name, None)
            self.stored[name] = alone(one, able[-1])
            self.depth.setdefault(name, 1)
        while len(self.stored) > self._tasks:
            oldest = next(iter(self.stored))
            del self.stored[oldest], self.depth[oldest]
