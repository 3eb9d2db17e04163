"""Replay buffer of trajectory states for restarts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.ragged import group_rewards
from handaxe.ops.seeds import generator
from handaxe.selection.parts.stored import dump, is_resumable, load, stored_sibling

__all__ = ["ReplayedStates", "replayed_states"]


def replayed_states(*, memory: int = 512, seed: int = 0) -> "ReplayedStates":
    """Make a replay buffer, and draw states from it for rollouts to resume.

        stored     the last `memory` scored rollouts that started from the task, first in, first out
        state      (trajectory, turn), uniform over all turns of the stored trajectories of the task
                   that opened with the same messages

    A trajectory stays until newer ones replace it, so that states come from many policy versions.

    Args:
        memory: trajectories, >= 1. Not stored are restarted rollouts, which share the states of another trajectory, and
            rollouts that cannot be resumed (`ops.going_back`).
        seed: of the draws, which depend on step and task alone.

    Returns:
        A buffer: called with an attempt, it returns (trajectory, turn), or None without a trajectory of the task, for
        `restarting`; it learns as a `Learner` once a step from all rated groups. Metrics: stored (trajectories) and age
        (mean number of steps since they were sampled).

    Raises:
        InputError: a memory below 1.

    Example:
        attempts t/0 of one turn and t/1 of three at task t are stored
        ->  one of (t/0, 0), (t/1, 0), (t/1, 1), (t/1, 2)

    Paper: arXiv:2402.19446 (ArCHer), the replay buffer that its actor draws states from.
    Differs: states are of the attempted task, so that a group stays on one task.
    """
    if memory < 1:
        raise InputError(f"replayed_states has a memory of {memory}; give 1 or more")
    return ReplayedStates(memory, seed)


class ReplayedStates:
    """Buffer made by `replayed_states`; `stored` has rated groups of size 1, the oldest first."""

    def __init__(self, memory: int, seed: int):
        self.stored: list[RatedGroup] = []
        self._memory = memory
        self._seed = seed

    def __call__(self, attempt: Attempt) -> tuple[Trajectory, int] | None:
        """Draw a state of the attempt's task."""
        able = [one.group[0] for one in self.stored if is_resumable(one.group[0], attempt.task)]
        places = [(one, turn) for one in able for turn in range(len(one.turns))]
        if not places:
            return None
        rng = generator("replayed_states", self._seed, attempt.step, attempt.task.id)
        return places[int(rng.integers(len(places)))]

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Store scored rollouts, except restarted ones."""
        for one in groups:
            known_G = ~np.isnan(group_rewards(one.group, one.scores))
            resumable = [bool(t.turns) and t.branch_of is None and is_resumable(t) for t in one.group]
            own = [int(i) for i in np.flatnonzero(known_G & np.array(resumable, bool))]
            self.stored += [stored_sibling(one, i) for i in own]
        del self.stored[: -self._memory]
        ages = [step - one.group.step for one in self.stored]
        return {"stored": float(len(self.stored)), "age": float(np.mean(ages)) if ages else 0.0}

    def state_dict(self) -> dict[str, Any]:
        return {"stored": [dump(one) for one in self.stored]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stored = [load(one) for one in state["stored"]]
