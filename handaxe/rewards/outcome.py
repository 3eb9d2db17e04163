"""Lifts a function of a trajectory to a reward.

Example:
    @outcome
    def says_four(trajectory): return trajectory.final_text == "4"

    on final texts "4", "5" and "4" it scores 1, 0 and 1
Idea: most rewards read one trajectory; only rewards that compare siblings need the group.
"""

from collections.abc import Callable

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.checks import call_score, finite_number

__all__ = ["outcome"]


def outcome(score: Callable[[Trajectory], float]) -> Reward:
    """Lift `Trajectory -> float` to a reward: one number a sibling, at the end of the rollout.

        outcome_i = score(trajectory_i)

    Args:
        score: True and False count as 1 and 0.

    Returns:
        A reward with outcome [G], without per-turn values.

    Raises:
        VerifierError: `score` raises, or returns None, NaN or no number; it names the trajectory.
        InputError: an InputError of `score`, such as TaskError, passes through: the data is at fault.

    Example:
        lengths 2, 0, 3 under outcome(lambda trajectory: len(trajectory.final_text))  ->  outcome 2, 0, 3
    """

    def reward(group: Group) -> Scores:
        return Scores(np.array([finite_number(call_score(score, one), one) for one in group], dtype=np.float64))

    return reward
