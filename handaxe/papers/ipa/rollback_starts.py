"""Start states inside the latest success of each task, moving towards its beginning."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.ragged import group_rewards
from handaxe.selection.parts.stored import dump, is_resumable, load, stored_sibling

__all__ = ["RollbackStarts", "rollback_starts"]


def rollback_starts(
    *, above: float = 0.5, solved: float = 0.5, moves: bool = True, channel: str | None = None, tasks: int = 4096
) -> "RollbackStarts":
    """Make a store of the latest success of each task and of the depth at which rollouts restart in it.

        start(task)  =  (success, turn N - d)            N: turns of the success, the last d of which are played again
        d = 1 at first;  d + 1 once at least `solved` of the siblings of a group that started there have R_i > above

    If N - d is not after the first turn, the task is played from its beginning. A new success replaces the stored one,
    and d stays. R_i is the outcome plus the per-turn rewards, or a channel.

    Args:
        above: a success has a reward above this, in units of reward.
        solved: share of a group, in (0, 1].
        moves: False keeps d = 1, for `restarting` with `spread`.
        channel: read this channel of the scores instead.
        tasks: maximum number of stored tasks; beyond it, the task without a success for the longest is dropped.

    Returns:
        A store. Called with an attempt, it returns (trajectory, turn) or None, for `restarting`. It is a `Learner` and
        learns once a step from all rated groups; metrics: stored (tasks), depth (mean d), solved (share of restarted
        groups; 0 without any). It skips unscored rollouts, rollouts of one turn, and those that cannot be resumed by
        `ops.going_back`. A task whose messages have changed since has no start.

    Raises:
        InputError: a number out of range.

    Example:
        a success of four turns is stored  ->  turn 3; two of four rollouts from there are correct  ->  turn 2

    Paper: arXiv:2512.24873 (ROME), section 3.2.4.4, chunk-initialised resampling with sequential rollback.
    Unconfirmed: the share of a group at which d rises; the paper goes back once the tail is learned, without a number.
    Differs: the store holds the policy's own successes, and none of a teacher.
    """
    if not 0 < solved <= 1 or tasks < 1:
        raise InputError(f"solved is {solved} and tasks {tasks}; give a share in (0, 1], and 1 or more")
    return RollbackStarts(above, solved, moves, channel, tasks)


class RollbackStarts:
    """Store of `rollback_starts`: `stored` maps a task id to a success, a rated group of one; `depth` maps it to d."""

    def __init__(self, above: float, solved: float, moves: bool, channel: str | None, tasks: int):
        self.stored: dict[str, RatedGroup] = {}
        self.depth: dict[str, int] = {}
        self._above = above
        self._solved = solved
        self._moves = moves
        self._channel = channel
        self._tasks = tasks

    def __call__(self, attempt: Attempt) -> tuple[Trajectory, int] | None:
        """Start state of a rollout of the attempt's task."""
        stored = self.stored.get(attempt.task.id)
        if stored is None or not is_resumable(stored.group[0], attempt.task):
            return None
        (success,) = stored.group
        turn = len(success.turns) - self.depth[attempt.task.id]
        return (success, turn) if turn > 0 else None

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Store successes, and increase the depth of solved starts."""
        del step
        solved = []
        for one in groups:
            right_G = self.correct(one)
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

    def correct(self, one: RatedGroup) -> np.ndarray:
        """[G]: 1 for a success, 0 for none, NaN for unscored."""
        reward_G = group_rewards(one.group, one.scores, channel=self._channel)
        return np.where(np.isnan(reward_G), np.nan, reward_G > self._above)

    def state_dict(self) -> dict[str, Any]:
        return {"tasks": [[name, self.depth[name], dump(one)] for name, one in self.stored.items()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stored = {name: load(one) for name, _, one in state["tasks"]}
        self.depth = {name: int(depth) for name, depth, _ in state["tasks"]}

    def _go_back(self, name: str, *, solved: bool) -> None:
        if solved and self._moves and name in self.stored:
            most = len(self.stored[name].group[0].turns)  # beyond it there is nothing to go back to
            self.depth[name] = min(self.depth[name] + 1, most)

    def _store(self, one: RatedGroup, right_G: np.ndarray) -> None:
        name = one.group.task.id
        correct = [int(i) for i in np.flatnonzero(right_G)]
        resumable = [i for i in correct if len(one.group[i].turns) > 1 and is_resumable(one.group[i])]
        if resumable:
            self.stored.pop(name, None)
            self.stored[name] = stored_sibling(one, resumable[-1])
            self.depth.setdefault(name, 1)
        while len(self.stored) > self._tasks:
            oldest = next(iter(self.stored))
            del self.stored[oldest], self.depth[oldest]
