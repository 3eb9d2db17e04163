"""Train on short successes and long failures first, and on the rest later, in an optimiser step of its own."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Group, Rated, Trajectory
from handaxe.ops.ragged import rewards_of
from handaxe.ops.seeds import derive_seed, generator
from handaxe.selection.parts.stored import alone, dump, load

__all__ = ["Recompose", "num_calls", "num_tokens", "recompose"]

Place = tuple[int, int]
"""Of an attempt: which group, which sibling."""


def num_tokens(trajectory: Trajectory) -> float:
    """How many tokens the policy wrote."""
    return float(trajectory.num_tokens)


def num_calls(trajectory: Trajectory) -> float:
    """How many well-formed calls an attempt holds."""
    return float(len(trajectory.calls))


def recompose(
    *,
    share: float = 0.5,
    capacity: int = 64,
    chance: float | Callable[[int], float] = 1.0,
    amount: Callable[[Trajectory], float] = num_tokens,
    above: float = 0.5,
    channel: str | None = None,
    seed: int = 0,
) -> Selector:
    """Split a batch into a priority part that trains at once and a rest that trains later, through a buffer.

        right = {i: R_i > above},  wrong = the others, each over the whole batch
        priority    the ceil(share |right|) of right with the least amount, and
                    the ceil(share |wrong|) of wrong with the most
        the rest    goes to the end of a buffer; what is then more than `capacity` leaves it, the oldest first
        what leaves trains in a part after the priority's, with probability chance(step); else it is forgotten

    R_i is the outcome plus the per-turn rewards. Advantages are those of the group that an attempt was played in,
    whatever else of it trains. What waits in the buffer keeps ids, versions of the weights and old log-probs from when
    it was drawn: it trains in groups of one whose `part` is higher than any other's, in optimiser steps of its own, at
    a ratio that says how far the policy has moved since. Where `train` annotates, its old_logp is not measured anew.

    Args:
        share: alpha, of each of the two kinds, in (0, 1]; ties in amount are broken by a draw that depends on the
            attempt's id alone.
        capacity: attempts in the buffer, >= 0; about as many as a step plays.
        chance: of the step, in [0, 1], or a function of it, such as training.loop.schedule.cosine(1.0, steps=T).
        amount: what is to become less: tokens, or calls where an agent is to make fewer.
        above: right is a reward strictly above this.
        channel: judge this channel of the scores instead of the whole reward; where there is none of that name, the
            only one that a reward around it calls ".../NAME".
        seed: of the draws.

    Returns:
        A stateful selector: [Rated] -> [Rated]: the groups, in which the priority attempts alone train, and then what
        left the buffer, whose attempts have the ids STORED/replay/STEP. A group of which nothing has priority is left
        out. Unscored siblings (outcome NaN) and those that do not train are neither; a lone sibling is as any other.

    Raises:
        InputError: a number out of range; a `chance` that is not in [0, 1] at some step.

    Example:
        (right, length) (1, 10), (1, 40), (0, 15), (0, 60), share 0.5
        ->  (1, 10) and (0, 60) train; (1, 40) and (0, 15) wait

    Paper: arXiv:2509.25958 (RoRecomp), priority and compensation batches.
    Unconfirmed: share, capacity, chance, rounding up, advantages of the whole group, and that what leaves the buffer
    without being trained on is forgotten.
    Differs: nothing known.
    """
    if not 0 < share <= 1 or capacity < 0:
        raise InputError(f"share is {share} and capacity {capacity}; give more than 0 up to 1, and 0 or more")
    return Recompose(share, capacity, chance, amount, above, channel, seed)


class Recompose:
    """The selector that `recompose` describes; `stored` is its buffer, the oldest first."""

    def __init__(
        self,
        share: float,
        capacity: int,
        chance: float | Callable[[int], float],
        amount: Callable[[Trajectory], float],
        above: float,
        channel: str | None,
        seed: int,
    ):
        self.stored: list[Rated] = []
        self._share = share
        self._capacity = capacity
        self._chance = chance
        self._amount = amount
        self._above = above
        self._channel = channel
        self._seed = seed

    def __call__(self, rated: Sequence[Rated]) -> list[Rated]:
        if not rated:
            return []
        step = max(one.group.step for one in rated)
        right, wrong = self._judged(rated)
        first = {*self._least(rated, right, sign=1.0), *self._least(rated, wrong, sign=-1.0)}
        # In an order that siblings' places do not decide, since the oldest leave first.
        rest = sorted({*right, *wrong} - first, key=lambda place: self._draw(_at(rated, place)))
        self.stored += [alone(rated[g], i) for g, i in rest]
        left = self._overflow()
        part = 1 + max(one.part for one in rated)
        later = [_again(one, step, part) for one in left] if self._taken(step) else []
        chosen = [np.array([(g, i) in first for i in range(len(one.group))], bool) for g, one in enumerate(rated)]
        now = [replace(one, trained=chosen_G) for one, chosen_G in zip(rated, chosen, strict=True) if chosen_G.any()]
        return now + later

    def state_dict(self) -> dict[str, Any]:
        return {"stored": [dump(one) for one in self.stored]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stored = [load(one) for one in state["stored"]]

    def _judged(self, rated: Sequence[Rated]) -> tuple[list[Place], list[Place]]:
        """Which attempts that train are right, and which are wrong."""
        right, wrong = list[Place](), list[Place]()
        for g, one in enumerate(rated):
            reward_G = rewards_of(one.group, one.scores, channel=self._channel)
            for i in np.flatnonzero(one.trained & ~np.isnan(reward_G)):
                (right if reward_G[i] > self._above else wrong).append((g, int(i)))
        return right, wrong

    def _least(self, rated: Sequence[Rated], places: Sequence[Place], *, sign: float) -> list[Place]:
        """The share of them with the least amount times `sign`."""

        def rank(place: Place) -> tuple[float, int]:
            trajectory = _at(rated, place)
            return sign * self._amount(trajectory), self._draw(trajectory)

        # A little less, since 0.1 * 30 is a little more than 3.
        return sorted(places, key=rank)[: math.ceil(self._share * len(places) - 1e-9)]

    def _draw(self, trajectory: Trajectory) -> int:
        return derive_seed("recompose", self._seed, trajectory.id)

    def _overflow(self) -> list[Rated]:
        count = max(0, len(self.stored) - self._capacity)
        left, self.stored = self.stored[:count], self.stored[count:]
        return left

    def _taken(self, step: int) -> bool:
        chance = self._chance(step) if callable(self._chance) else self._chance
        if not 0 <= chance <= 1:
            raise InputError(f"recompose has the chance {chance} at step {step}; give 0 to 1")
        return bool(generator("recompose", self._seed, step).random() < chance)


def _at(rated: Sequence[Rated], place: Place) -> Trajectory:
    return rated[place[0]].group[place[1]]


def _again(stored: Rated, step: int, part: int) -> Rated:
    """A stored attempt under a name of its own: under its old one the record of its own step counts it."""
    trajectory = stored.group[0]
    replayed = replace(trajectory, id=f"{trajectory.id}/replay/{step}")
    return replace(stored, group=Group(stored.group.task, (replayed,), stored.group.step), part=part)
