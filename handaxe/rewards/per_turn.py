"""Lifts a function of a trajectory's turns to a reward.

Idea: process rewards read single trajectories and need no group.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import numpy as np

from handaxe.core.errors import VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.await_scores import call_scores
from handaxe.rewards.parts.checks import finite_number

__all__ = ["per_turn"]


def per_turn(
    score: Callable[[Trajectory], Iterable[float] | Awaitable[Iterable[float]]], *, concurrency: int = 16
) -> Reward:
    """Lift `Trajectory -> [N] numbers` to a reward of turns. The outcome is 0, so that no value counts twice.

        turns_i[n] = score(trajectory_i)[n]        outcome_i = 0

    Args:
        score: one number for each of the N turns. May be a coroutine function, as in `outcome`.
        concurrency: most coroutines of a group at the same time, >= 1.

    Returns:
        A reward with outcome [G] of zeros and turns, per trajectory [N]. `turns_to_outcome` adds them to the outcome.

    Raises:
        VerifierError: as `outcome`, and for another count than N. A trajectory without a turn has no numbers.

    Example:
        replies ok, failed under a score that gives 1 for ok and 0 otherwise  ->  turns (1, 0), outcome 0
    """

    def reward(group: Group) -> Scores:
        values = call_scores(score, group, concurrency=concurrency)
        turns = tuple(_turn_values(value, one) for value, one in zip(values, group))
        return Scores(np.zeros(len(group)), turns=turns)

    return reward


def _turn_values(values: Any, trajectory: Trajectory) -> np.ndarray:
    numbers = [finite_number(value, trajectory) for value in values] if isinstance(values, Iterable) else None
    if numbers is None or len(numbers) != len(trajectory.turns):
        raise VerifierError(
            f"trajectory {trajectory.id!r} has {len(trajectory.turns)} turns but the turn rewards {values!r}",
            trajectory=trajectory.id,
        )
    return np.array(numbers, dtype=np.float64)
