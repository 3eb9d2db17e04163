"""Priority and compensation batches of rollouts, by correctness and length."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Group, RatedGroup, Trajectory
from handaxe.ops.ragged import group_rewards
from handaxe.ops.seeds import derive_seed, generator
from handaxe.selection.parts.stored import dump, load, stored_sibling

__all__ = ["Recompose", "num_calls", "num_tokens", "recompose"]

Place = tuple[int, int]
"""Indices of a rollout: group, sibling."""


def num_tokens(trajectory: Trajectory) -> float:
    """Number of tokens written by the policy."""
    return float(trajectory.num_tokens)


def num_calls(trajectory: Trajectory) -> float:
    """Number of well-formed calls of a trajectory."""
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
        rest        appended to a buffer; beyond `capacity` the oldest leave it
        leaving rollouts train in a part after the priority's, with probability chance(step); else they are dropped

    R_i is the outcome plus the per-turn rewards. Advantages come from the whole group of a rollout. Buffered rollouts
    keep ids, weight versions and old log-probs from sampling: they train in groups of one with the highest `part`, in
    separate optimizer steps, at a ratio to the policy that sampled them. If `train` annotates, their old_logp is not
    recomputed.

    Args:
        share: alpha, of each of the two kinds, in (0, 1]; ties in amount are broken by a hash of the rollout's id.
        capacity: rollouts in the buffer, >= 0; about as many as a step samples.
        chance: probability of the compensation step, in [0, 1], or a function of the step, such as
            training.loop.schedule.cosine(1.0, steps=T).
        amount: trajectory -> quantity to reduce: tokens, or calls for agents.
        above: correct rollouts have a reward above this.
        channel: read this channel of the scores instead of the whole reward; if it does not exist, the only channel
            named ".../NAME" by an outer reward.
        seed: of the sampling.

    Returns:
        A stateful selector: [RatedGroup] -> [RatedGroup]: the groups, with only the priority rollouts trained, then
        those that left the buffer, with the ids STORED/replay/STEP. A group without a priority rollout is left out.
        Unscored siblings (outcome NaN) and masked ones belong to neither kind; a lone sibling is treated as any other.

    Raises:
        InputError: a number out of range; a `chance` outside [0, 1] at some step.

    Example:
        (correct, length) (1, 10), (1, 40), (0, 15), (0, 60), share 0.5
        ->  (1, 10) and (0, 60) train; (1, 40) and (0, 15) wait

    Paper: arXiv:2509.25958 (RoRecomp), priority and compensation batches.
    Unconfirmed: share, capacity, chance, rounding up, advantages of the whole group, and that rollouts that leave the
    buffer untrained are dropped.
    Differs: nothing known.
    """
    if not 0 < share <= 1 or capacity < 0:
        raise InputError(f"share is {share} and capacity {capacity}; give a share in (0, 1], and 0 or more")
    return Recompose(share, capacity, chance, amount, above, channel, seed)


class Recompose:
    """Selector of `recompose`; `stored` is its buffer, the oldest first."""

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
        self.stored: list[RatedGroup] = []
        self._share = share
        self._capacity = capacity
        self._chance = chance
        self._amount = amount
        self._above = above
        self._channel = channel
        self._seed = seed

    def __call__(self, rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        if not rated:
            return []
        step = max(one.group.step for one in rated)
        right, wrong = self._judged(rated)
        first = {*self._least(rated, right, sign=1.0), *self._least(rated, wrong, sign=-1.0)}
        # In an order that siblings' places do not decide, since the oldest leave first.
        rest = sorted({*right, *wrong} - first, key=lambda place: self._draw(_at(rated, place)))
        self.stored += [stored_sibling(rated[g], i) for g, i in rest]
        leaving = self._overflow()
        part = 1 + max(one.part for one in rated)
        later = [_again(one, step, part) for one in leaving] if self._replays(step) else []
        chosen = [np.array([(g, i) in first for i in range(len(one.group))], bool) for g, one in enumerate(rated)]
        now = [replace(one, trained=chosen_G) for one, chosen_G in zip(rated, chosen, strict=True) if chosen_G.any()]
        return now + later

    def state_dict(self) -> dict[str, Any]:
        return {"stored": [dump(one) for one in self.stored]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stored = [load(one) for one in state["stored"]]

    def _judged(self, rated: Sequence[RatedGroup]) -> tuple[list[Place], list[Place]]:
        """Places of the correct and of the wrong trained rollouts."""
        right, wrong = list[Place](), list[Place]()
        for g, one in enumerate(rated):
            reward_G = group_rewards(one.group, one.scores, channel=self._channel)
            for i in np.flatnonzero(one.trained & ~np.isnan(reward_G)):
                (right if reward_G[i] > self._above else wrong).append((g, int(i)))
        return right, wrong

    def _least(self, rated: Sequence[RatedGroup], places: Sequence[Place], *, sign: float) -> list[Place]:
        """The share of the places with the least amount times `sign`."""

        def rank(place: Place) -> tuple[float, int]:
            trajectory = _at(rated, place)
            return sign * self._amount(trajectory), self._draw(trajectory)

        # A little less, since 0.1 * 30 is a little more than 3.
        return sorted(places, key=rank)[: math.ceil(self._share * len(places) - 1e-9)]

    def _draw(self, trajectory: Trajectory) -> int:
        return derive_seed("recompose", self._seed, trajectory.id)

    def _overflow(self) -> list[RatedGroup]:
        count = max(0, len(self.stored) - self._capacity)
        leaving, self.stored = self.stored[:count], self.stored[count:]
        return leaving

    def _replays(self, step: int) -> bool:
        chance = self._chance(step) if callable(self._chance) else self._chance
        if not 0 <= chance <= 1:
            raise InputError(f"the chance of recompose is {chance} at step {step}; give 0 to 1")
        return bool(generator("recompose", self._seed, step).random() < chance)


def _at(rated: Sequence[RatedGroup], place: Place) -> Trajectory:
    return rated[place[0]].group[place[1]]


def _again(stored: RatedGroup, step: int, part: int) -> RatedGroup:
    """A stored rollout under a new id: the record of the first step counts the old id."""
    trajectory = stored.group[0]
    replayed = replace(trajectory, id=f"{trajectory.id}/replay/{step}")
    again = stored.with_group(Group(stored.group.task, (replayed,), stored.group.step))
    return replace(again, part=part)
