"""State of one group in play: rollouts in flight, retries, and completion."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from handaxe.core.endings import Treatment, unscored_reason
from handaxe.core.records import (
    STOPPED,
    Disposition,
    Dispositions,
    EndingKind,
    Group,
    PlayedGroup,
    Task,
    Trajectory,
)
from handaxe.core.requests import Attempt
from handaxe.rollouts.driver.aux_engines import check_policy_trajectories
from handaxe.rollouts.stopping.rule import StopRule

__all__ = ["GroupPlay", "Next"]

ON_ENDING = "on_ending"
"""Author of dispositions from the treatment of endings."""


class Next(NamedTuple):
    """Consequence of an ended rollout: attempts to start, and ids of attempts to stop."""

    start: list[Attempt]
    stop: list[str]


class GroupPlay:
    """Decisions for one group, without playing it.

    The group is over when no rollout is in flight. It is decided when `size` scorable rollouts have ended, or
    `stop_when` returns True. Rollouts still in flight are then stopped, and their trajectories are last in the group,
    unscored, also if one ended in the same instant.

    Args:
        task, step, nth: purpose of the group; nth counts the step's groups of this task.
        attempts: `size` or more; the rest is spare.
        size: number of rollouts wanted.
        treatment: by ending; "retry" starts a rollout again, `retries` times at most.
        again: makes the n-th retry of an attempt.
        stop_when: called after every ended rollout; see rollouts.stopping.
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
        self._candidates: dict[int, list[Trajectory]] = {}
        self._unscored: list[tuple[Trajectory, str]] = []
        self._decided = False

    @property
    def over(self) -> bool:
        """True if no rollout is in flight."""
        return not self.under_way

    def ended(self, attempt: Attempt, trajectories: Sequence[Trajectory]) -> Next:
        """Take the trajectories of an ended rollout of this group."""
        check_policy_trajectories(trajectories)
        del self.under_way[attempt.id]
        if self._decided:
            self._unscored += [(one, "stopped") for one in trajectories]
            return Next([], [])
        tries = self._tries[attempt.sample]
        if tries < self._retries and any(self._treatment[t.ending.kind] == "retry" for t in trajectories):
            self._unscored += [(one, "superseded") for one in trajectories]
            self._tries[attempt.sample] = tries + 1
            retry = self._again(attempt, tries + 1)
            self.under_way[retry.id] = retry
            return Next([retry], [])
        self._candidates[attempt.sample] = [one for one in trajectories if one.ending != STOPPED]
        self._unscored += [(one, "stopped") for one in trajectories if one.ending == STOPPED]
        self._decided = bool(self.under_way) and self._enough()
        return Next([], list(self.under_way) if self._decided else [])

    def played(self, step: int) -> PlayedGroup:
        """Return the group for reward and credit in `step`: candidates by sample, then the unscored rollouts."""
        final = [trajectory for sample in sorted(self._candidates) for trajectory in self._candidates[sample]]
        histories = [self._history(one) for one in final]
        histories += [_unscored(one, reason) for one, reason in self._unscored]
        if any(self._treatment[one.ending.kind] == "drop_group" for one in final):
            histories = [(*own, Disposition("dropped", ON_ENDING)) for own in histories]
        group = Group(self.task, (*final, *(one for one, _ in self._unscored)), step)
        return PlayedGroup(group, tuple(histories))

    def _history(self, one: Trajectory) -> Dispositions:
        if reason := unscored_reason(one.ending):
            return (Disposition("unscored", reason),)
        return () if self._treatment[one.ending.kind] == "score" else (Disposition("masked", ON_ENDING),)

    def _enough(self) -> bool:
        scorable = {s: [t for t in own if not unscored_reason(t.ending)] for s, own in self._candidates.items()}
        if sum(bool(found) for found in scorable.values()) >= self._size:
            return True
        return self._stop_when is not None and self._stop_when(
            [one for sample in sorted(scorable) for one in scorable[sample]], self._size
        )


def _unscored(one: Trajectory, reason: str) -> Dispositions:
    """Dispositions of a surplus rollout, after the disposition of its ending."""
    return tuple(Disposition("unscored", by) for by in dict.fromkeys((unscored_reason(one.ending) or reason, reason)))
