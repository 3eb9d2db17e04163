"""Lifts a plain function of one trajectory to a reward.

Example:
    @outcome
    def says_four(trajectory): return trajectory.final_text == "4"

    on final texts "4", "5" and "4" it scores 1, 0 and 1
Idea: most rewards look at one trajectory; only those that compare siblings should have to see the group.
"""

from collections.abc import Callable

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.checks import called_with, number

__all__ = ["outcome"]


def outcome(score: Callable[[Trajectory], float]) -> Reward:
    """Lift `Trajectory -> float` to a reward: one number for each sibling, at the end of its attempt.

        outcome_i = score(trajectory_i)

    Args:
        score: True and False count as 1 and 0.

    Returns:
        A reward with outcome [G], and no per-turn part.

    Raises:
        VerifierError: naming the trajectory, when `score` raises, or returns None, NaN or anything but a number.
        InputError: whatever of this family `score` raises, such as TaskError, passes through: the data is at fault.

    Example:
        lengths 2, 0, 3 under outcome(lambda trajectory: len(trajectory.final_text))  ->  outcome 2, 0, 3
    """

    def reward(group: Group) -> Scores:
        return Scores(np.array([number(called_with(score, one), one) for one in group], dtype=np.float64))

    return reward
