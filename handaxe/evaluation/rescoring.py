"""Scores recorded rollouts again, by the run's reward or another reward. No policy generates tokens."""

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
from handaxe.evaluation.agreement import SAME, GroupScores
from handaxe.evaluation.attack_trials import RewardCallError, call_reward
from handaxe.ops.ragged import group_rewards
from handaxe.training.record.groups import RecordedGroup

__all__ = ["Determinism", "Rescoring", "count_differences", "determinism", "rescore", "scored_groups"]


class Rescoring(NamedTuple):
    """Scores of recorded groups by a reward.

    scored   groups with their scores; NaN after a failure
    failed   failures, each with the id of the task
    seconds  wall time, by group
    """

    scored: list[GroupScores]
    failed: list[str]
    seconds: list[float]


class Determinism(NamedTuple):
    """Repeatability of a reward.

    groups     scored
    repeated   groups with different scores in two calls from the same state
    reordered  groups with different scores after the siblings are reversed
    largest    largest difference of a rollout's total reward
    failed     failure at a group; "" without one
    """

    groups: int
    repeated: int
    reordered: int
    largest: float
    failed: str


def scored_groups(records: Sequence[RecordedGroup]) -> list[GroupScores]:
    """The recorded groups, reduced to scored siblings, with scores.

    Raises:
        InputError: no rollout was scored.
    """
    found = [(one.group, one.scores) for one in records if one.scores is not None]
    if not found:
        raise InputError("no recorded rollout was scored, so there is nothing to score again")
    return found


def rescore(reward: Reward, groups: Sequence[Group], *, seconds: float | None = None) -> Rescoring:
    """Score groups in recorded order; the state of a stateful reward advances.

    Args:
        reward: to call.
        groups: for example of `scored_groups`.
        seconds: wall time a group, after which the reward counts as hanging and is not called again. None: no limit,
            in this thread.

    Returns:
        Scores of all groups; failures are in `failed` and stop nothing.
    """
    out = Rescoring([], [], [])
    hangs = False
    for group in groups:
        start, scores = time.perf_counter(), _unscored(group)
        try:
            if not hangs:
                scores = call_reward(reward, group, seconds=seconds, keep_state=True)
        except RewardCallError as error:
            out.failed.append(f"{group.task.id}: {error}")
            hangs = error.hangs
        out.scored.append((group, scores))
        out.seconds.append(time.perf_counter() - start)
    return out


def count_differences(
    recorded: Sequence[GroupScores], rescored: Sequence[GroupScores], *, tolerance: float = 0.0
) -> int:
    """Count rollouts with a different total reward, outcome and turns together.

    Raises:
        InputError: the groups differ.
    """
    if [len(group) for group, _ in recorded] != [len(group) for group, _ in rescored]:
        raise InputError("these are not scores of the same groups")
    count = 0
    for (group, old), (_, new) in zip(recorded, rescored):
        a, b = group_rewards(group, old), group_rewards(group, new)
        count += int(np.sum(~(np.isclose(a, b, rtol=0, atol=tolerance, equal_nan=True))))
    return count


def determinism(reward: Reward, groups: Sequence[Group], *, seconds: float | None = None) -> Determinism:
    """Score each group twice, and once with siblings reversed, from the same state. Rewards within SAME are
    equal."""
    repeated = reordered = 0
    largest = 0.0
    for count, group in enumerate(groups):
        turned = replace(group, trajectories=group.trajectories[::-1])
        try:
            first, second, third = (
                group_rewards(one, call_reward(reward, one, seconds=seconds)) for one in (group, group, turned)
            )
        except HandaxeError as error:
            return Determinism(count, repeated, reordered, largest, f"{group.task.id}: {error}")
        gaps = [_gap(first, second), _gap(first, third[::-1])]
        repeated, reordered = repeated + (gaps[0] > SAME), reordered + (gaps[1] > SAME)
        largest = max(largest, *gaps)
    return Determinism(len(groups), repeated, reordered, largest, "")


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return math.inf
    known = ~np.isnan(a)
    return float(np.abs(a[known] - b[known]).max()) if known.any() else 0.0


def _unscored(group: Group) -> Scores:
    return Scores(np.full(len(group), np.nan))
