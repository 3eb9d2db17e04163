"""Keep the states that attempts went through, and hand them out to be gone on from."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Rated, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.ragged import rewards_of
from handaxe.ops.seeds import generator
from handaxe.selection.parts.stored import alone, begins_again, dump, load

__all__ = ["ReplayedStates", "replayed_states"]


def replayed_states(*, memory: int = 512, seed: int = 0) -> "ReplayedStates":
    """Make a store of recorded attempts, and draw from it states to be gone on from.

        stored     the last `memory` attempts that began at the beginning and were scored, the oldest leaving first
        state      (attempt, turn), drawn evenly among all turns of the stored attempts at the task,
                   where it was opened in the same words

    An attempt stays for as many steps as the store has room for, so that the states are those of many policies, and not
    of the present one alone.

    Args:
        memory: attempts, >= 1; those that began in a recorded one are not stored, as they share its states, nor those
            that no attempt can begin in, as `ops.going_back` tells.
        seed: of the draws, which depend on step and task alone.

    Returns:
        A store: called with an attempt, it says (trajectory, turn), or None where it knows none of the task, for
        `restarting`; it learns as a `Learner` once a step from all rated groups, whose metrics are stored (attempts)
        and age (mean number of steps since they were made).

    Raises:
        InputError: a memory below 1.

    Example:
        attempts t/0 of one turn and t/1 of three at task t are stored
        ->  one of (t/0, 0), (t/1, 0), (t/1, 1), (t/1, 2)

    Paper: arXiv:2402.19446 (ArCHer), the replay buffer that its actor draws states from.
    Differs: states are of the task that is to be tried, so that a group stays one of one task.
    """
    if memory < 1:
        raise InputError(f"replayed_states has a memory of {memory}; give 1 or more")
    return ReplayedStates(memory, seed)


class ReplayedStates:
    """The store that `replayed_states` describes; `stored` are rated groups of one, the oldest first."""

    def __init__(self, memory: int, seed: int):
        self.stored: list[Rated] = []
        self._memory = memory
        self._seed = seed

    def __call__(self, attempt: Attempt) -> tuple[Trajectory, int] | None:
        """A state of its task."""
        able = [one.group[0] for one in self.stored if begins_again(one.group[0], attempt.task)]
        places = [(one, turn) for one in able for turn in range(len(one.turns))]
        if not places:
            return None
        rng = generator("replayed_states", self._seed, attempt.step, attempt.task.id)
        return places[int(rng.integers(len(places)))]

    def learn(self, groups: Sequence[Rated], *, step: int) -> Mapping[str, float]:
        """Store what began at the beginning."""
        for one in groups:
            known_G = ~np.isnan(rewards_of(one.group, one.scores))
            whole = [bool(t.turns) and t.branch_of is None and begins_again(t) for t in one.group]
            own = [int(i) for i in np.flatnonzero(known_G & np.array(whole, bool))]
            self.stored += [alone(one, i) for i in own]
        del self.stored[: -self._memory]
        ages = [step - one.group.step for one in self.stored]
        return {"stored": float(len(self.stored)), "age": float(np.mean(ages)) if ages else 0.0}

    def state_dict(self) -> dict[str, Any]:
        return {"stored": [dump(one) for one in self.stored]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stored = [load(one) for one in state["stored"]]
