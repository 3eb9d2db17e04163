"""Causes of failed rollouts: numbers with changes in solved rollouts and none in failed rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.turn_numbers import common_names, turn_numbers

__all__ = ["Cause", "FAILURE", "RolloutLog", "failure_curves", "rank_causes"]

FAILURE = "failure/"
"""Start of the name of a curve that describes failures."""
LEAST = 0.1
"""Least difference of the shares for a cause."""


class Cause(NamedTuple):
    """Number with fewer changes in failed than in solved rollouts.

    name     of the number
    failed   share of the failed rollouts that change the number
    solved   share of the solved rollouts
    change   mean change over the solved rollouts, from the first turn to the last
    """

    name: str
    failed: float
    solved: float
    change: float


class RolloutLog:
    """Reward with a list of the rollouts and scores.

    Args:
        task: measure of success.

    Example:
        log = RolloutLog(correct); log(group) scores as correct(group), and log.rollouts has the siblings of the group
    """

    def __init__(self, task: Reward):
        self._task = task
        self.rollouts: list[tuple[Trajectory, float]] = []

    def __call__(self, group: Group) -> Scores:
        found: Scores = self._task(group)  # type: ignore[assignment]
        self.rollouts += zip(group, found.outcome.tolist(), strict=True)
        return found


def failure_curves(rollouts: Sequence[tuple[Trajectory, float]]) -> dict[str, tuple[float, ...]]:
    """Compare failed and solved rollouts, number by number.

        failed_k = share of the rollouts with score 0 in which number k takes more than one value
        solved_k = that share of the rollouts with a score above 0
        change_k = mean over the solved rollouts of x_k[N] - x_k[0]

    Args:
        rollouts: (trajectory, score) of a trial.

    Returns:
        "failure/NAME" -> (failed_k, solved_k, change_k); {} unless there are failed and solved rollouts.

    Example:
        two failed rollouts with "door" 1, 1 and a solved one with 1, 0 -> {"failure/door": (0, 1, -1)}

    Paper: arXiv:2312.09238 (Auto MC-Reward), the trajectory analyser.
    Unconfirmed: the number of last frames that the analyser reads.
    Differs: a rule compares numbers of failed and solved rollouts; the paper's language model reads the last frames of
        failed rollouts, and knows the game.
    """
    failed = [turn_numbers(one) for one, score in rollouts if score <= 0]
    solved = [turn_numbers(one) for one, score in rollouts if score > 0]
    if not failed or not solved:
        return {}
    curves = dict[str, tuple[float, ...]]()
    for name in common_names([one for one, _ in rollouts]):
        change = float(np.mean([rows[-1].get(name, 0.0) - rows[0].get(name, 0.0) for rows in solved]))
        curves[FAILURE + name] = (_moved(failed, name), _moved(solved, name), change)
    return curves


def rank_causes(curves: Mapping[str, Sequence[float]]) -> list[Cause]:
    """Sort numbers by the difference of the shares, largest first; equal differences by name.

    Returns:
        Causes with a difference of 0.1 or more, and a mean change other than 0.

    Example:
        {"failure/door": (0, 1, -1), "failure/turn": (1, 1, 5)} -> [Cause("door", 0, 1, -1)]
    """
    found = [Cause(name.removeprefix(FAILURE), *own) for name, own in curves.items() if name.startswith(FAILURE)]
    kept = [one for one in found if one.solved - one.failed >= LEAST and one.change]
    return sorted(kept, key=lambda one: (one.failed - one.solved, one.name))


def _moved(rollouts: Sequence[Sequence[Mapping[str, float]]], name: str) -> float:
    """Share of the rollouts in which a number takes more than one value."""
    return float(np.mean([len({row[name] for row in rows if name in row}) > 1 for rows in rollouts]))
