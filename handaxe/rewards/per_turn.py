"""Lifts a plain function of one trajectory's turns to a reward.

Idea: process rewards say something of each turn; they need not see the group either.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from handaxe.core.errors import VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.checks import called_with, number

__all__ = ["per_turn"]


def per_turn(score: Callable[[Trajectory], Iterable[float]]) -> Reward:
    """Lift `Trajectory -> [N] numbers` to a reward attached to turns; the outcome is 0, so nothing counts twice.

        turns_i[n] = score(trajectory_i)[n]        outcome_i = 0

    Args:
        score: one number for each of the N turns.

    Returns:
        A reward with outcome [G] of zeros and turns, per trajectory [N]. `total` adds them into one number.

    Raises:
        VerifierError: as `outcome`, and when there are not N numbers. A trajectory without a turn has none.

    Example:
        replies ok, failed under a score that gives 1 for ok and 0 otherwise  ->  turns (1, 0), outcome 0
    """

    def reward(group: Group) -> Scores:
        turns = tuple(_turn_values(called_with(score, one), one) for one in group)
        return Scores(np.zeros(len(group)), turns=turns)

    return reward


def _turn_values(values: Any, trajectory: Trajectory) -> np.ndarray:
    numbers = [number(value, trajectory) for value in values] if isinstance(values, Iterable) else None
    if numbers is None or len(numbers) != len(trajectory.turns):
        raise VerifierError(
            f"trajectory {trajectory.id!r} has {len(trajectory.turns)} turns but was given the turn rewards {values!r}",
            trajectory=trajectory.id,
        )
    return np.array(numbers, dtype=np.float64)
