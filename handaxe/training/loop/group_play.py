"""One group while it is played: who is still under way, who is tried again, and when the rest is no longer needed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from handaxe.core.endings import NEVER_SCORED, Treatment
from handaxe.core.records import STOPPED, EndingKind, Group, Rated, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.rollouts.driver.others import check_own
from handaxe.rollouts.stopping.rule import StopRule
from handaxe.training.record.groups import Fate

__all__ = ["GroupPlay", "Next", "Tried"]


@dataclass(eq=False)
class Tried:
    """A group on its way through a step.

    group     everything that was generated; superseded and stopped attempts included, and also after scoring
    scorable  [G] bool: siblings for the reward to see
    trains    [G] bool: siblings whose tokens may enter the loss
    rated     the scorable siblings with scores and advantages; None until then, or when there is nothing to rate
    fate      "trained" unless something happens to it
    """

    group: Group
    scorable: np.ndarray
    trains: np.ndarray
    rated: Rated | None = None
    fate: Fate = "trained"


class Next(NamedTuple):
    """What an attempt that ended brings about: attempts to start, and ids of attempts to stop."""

    start: list[Attempt]
    stop: list[str]


class GroupPlay:
    """Decides for one group; it plays nothing itself.

    The group is over when no attempt is under way. It is decided as soon as `size` attempts ended that may be scored,
    or `stop_when` says so; then those under way are stopped, and whatever comes of them, also of one that ended in the
    same instant, is kept at the end of the group, unscored.

    Args:
        task, step, nth: what the group is for; nth counts the step's groups of this task.
        attempts: `size` or more of them; those beyond are spare.
        size: attempts wanted.
        treatment: by ending; "retry" starts an attempt again, `retries` times at most.
        again: makes the n-th retry of an attempt.
        stop_when: asked after every attempt that ended; see rollouts.stopping.
    """

    def __init__(
        self,
        task: Task,
        step: int,
        nth: int,
        attempts: Sequence[Attempt],
        *,
        size: int,
        treatment: Mapping[EndingKind, Treatment],
        retries: int,
        again: Callable[[Attempt, int], Attempt],
        stop_when: StopRule | None = None,
    ):
        self.task = task
        self.step = step
        self.nth = nth
        self.under_way: dict[str, Attempt] = {attempt.id: attempt for attempt in attempts}
        self._size = size
        self._treatment = treatment
        self._retries = retries
        self._again = again
        self._stop_when = stop_when
        self._tries = dict.fromkeys((attempt.sample for attempt in attempts), 0)
        self._kept: dict[int, list[Trajectory]] = {}
        self._aside: list[Trajectory] = []
        self._decided = False

    @property
    def over(self) -> bool:
        """Whether no attempt is under way."""
        return not self.under_way

    def ended(self, attempt: Attempt, trajectories: Sequence[Trajectory]) -> Next:
        """Take what came of an attempt of this group."""
        check_own(trajectories)
        del self.under_way[attempt.id]
        if self._decided:
            self._aside += trajectories
            return Next([], [])
        tries = self._tries[attempt.sample]
        if tries < self._retries and any(self._treatment[t.ending.kind] == "retry" for t in trajectories):
            self._aside += trajectories
            self._tries[attempt.sample] = tries + 1
            retry = self._again(attempt, tries + 1)
            self.under_way[retry.id] = retry
            return Next([retry], [])
        self._kept[attempt.sample] = [one for one in trajectories if one.ending != STOPPED]
        self._aside += [one for one in trajectories if one.ending == STOPPED]
        self._decided = bool(self.under_way) and self._enough()
        return Next([], list(self.under_way) if self._decided else [])

    def tried(self, step: int) -> Tried:
        """The group as it goes on to reward and credit, in `step`: those that count by sample, the others behind."""
        final = [trajectory for sample in sorted(self._kept) for trajectory in self._kept[sample]]
        unscored = [False] * len(self._aside)
        scorable = [t.ending.kind not in NEVER_SCORED for t in final] + unscored
        trains = [self._treatment[t.ending.kind] == "score" for t in final] + unscored
        dropped = any(self._treatment[t.ending.kind] == "drop_group" for t in final)
        group = Group(self.task, (*final, *self._aside), step)
        return Tried(group, np.array(scorable, bool), np.array(trains, bool), fate="dropped" if dropped else "trained")

    def _enough(self) -> bool:
        scorable = {s: [t for t in found if t.ending.kind not in NEVER_SCORED] for s, found in self._kept.items()}
        if sum(bool(found) for found in scorable.values()) >= self._size:
            return True
        return self._stop_when is not None and self._stop_when(
            [one for sample in sorted(scorable) for one in scorable[sample]], self._size
        )
