"""Scores recorded attempts again, with the reward of their run or with another one; no model is asked for a token."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.evaluation.agreement import SAME, Scored
from handaxe.evaluation.lab import LabError, ask
from handaxe.ops.ragged import rewards_of
from handaxe.training.record.groups import GroupRecord

__all__ = ["Determinism", "Rescored", "determinism", "differences", "rescore", "scored_groups"]


class Rescored(NamedTuple):
    """What a reward says of recorded groups.

    scored   each group with its scores, NaN where it said nothing
    failed   what went wrong at each group at which something did: its task and the reward's words
    seconds  wall time, by group
    """

    scored: list[Scored]
    failed: list[str]
    seconds: list[float]


class Determinism(NamedTuple):
    """Whether a reward says the same again.

    groups     asked of
    twice      of these, those of which it says two things when it is asked twice from the same state
    reordered  those of which it says another thing when siblings come in the opposite order
    worst      the largest difference that was seen, in all an attempt earned
    failed     what went wrong at a group, if something did
    """

    groups: int
    twice: int
    reordered: int
    worst: float
    failed: str


def scored_groups(records: Sequence[GroupRecord]) -> list[Scored]:
    """The groups as the reward of their run saw them, with what it said: siblings that were scored, and their scores.

    Raises:
        InputError: nothing was scored.
    """
    found = []
    for one in records:
        if one.scores is not None and one.scored.any():
            kept = tuple(attempt for attempt, scored in zip(one.group, one.scored, strict=True) if scored)
            found.append((replace(one.group, trajectories=kept), one.scores))
    if not found:
        raise InputError("no recorded attempt was scored, so there is nothing to score again")
    return found


def rescore(reward: Reward, groups: Sequence[Group], *, seconds: float | None = None) -> Rescored:
    """Ask a reward about groups in their order; one that remembers goes on from what it saw.

    Args:
        reward: asked, and changed where it remembers.
        groups: of `scored_groups`, for example.
        seconds: wall time for a group, after which it counts as hanging and is asked no more; None waits for ever, in
            this thread.

    Returns:
        Scores of all groups; what the reward raises stands in `failed` and stops nothing.
    """
    out = Rescored([], [], [])
    hangs = False
    for group in groups:
        begun, scores = time.perf_counter(), _nothing(group)
        try:
            if not hangs:
                scores = ask(reward, group, seconds=seconds, remember=True)
        except LabError as error:
            out.failed.append(f"{group.task.id}: {error}")
            hangs = error.hangs
        out.scored.append((group, scores))
        out.seconds.append(time.perf_counter() - begun)
    return out


def differences(recorded: Sequence[Scored], again: Sequence[Scored], *, tolerance: float = 0.0) -> int:
    """How many attempts earn another reward now than was recorded, outcome and turns together.

    Raises:
        InputError: these are not the same groups.
    """
    if [len(group) for group, _ in recorded] != [len(group) for group, _ in again]:
        raise InputError("these are not scores of the same groups")
    count = 0
    for (group, old), (_, new) in zip(recorded, again):
        a, b = rewards_of(group, old), rewards_of(group, new)
        count += int(np.sum(~(np.isclose(a, b, rtol=0, atol=tolerance, equal_nan=True))))
    return count


def determinism(reward: Reward, groups: Sequence[Group], *, seconds: float | None = None) -> Determinism:
    """Ask about each group twice, and once with its siblings in the opposite order, from the same state each time.
    Rewards that differ by no more than SAME count as the same."""
    twice = reordered = 0
    worst = 0.0
    for count, group in enumerate(groups):
        turned = replace(group, trajectories=group.trajectories[::-1])
        try:
            first, second, third = (
                rewards_of(one, ask(reward, one, seconds=seconds)) for one in (group, group, turned)
            )
        except HandaxeError as error:
            return Determinism(count, twice, reordered, worst, f"{group.task.id}: {error}")
        gaps = [_gap(first, second), _gap(first, third[::-1])]
        twice, reordered = twice + (gaps[0] > SAME), reordered + (gaps[1] > SAME)
        worst = max(worst, *gaps)
    return Determinism(len(groups), twice, reordered, worst, "")


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return math.inf
    known = ~np.isnan(a)
    return float(np.abs(a[known] - b[known]).max()) if known.any() else 0.0


def _nothing(group: Group) -> Scores:
    return Scores(np.full(len(group), np.nan))
