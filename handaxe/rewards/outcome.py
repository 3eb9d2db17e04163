"""Lifts a function of a trajectory to a reward.

Example:
    @outcome
    def says_four(trajectory): return trajectory.final_text == "4"

    on final texts "4", "5" and "4" it scores 1, 0 and 1
Idea: most rewards read one trajectory; only rewards that compare siblings need the group.
"""

from collections.abc import Awaitable, Callable

import numpy as np

from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.await_scores import call_scores
from handaxe.rewards.parts.checks import finite_number

__all__ = ["outcome"]


def outcome(score: Callable[[Trajectory], float | Awaitable[float]], *, concurrency: int = 16) -> Reward:
    """Lift `Trajectory -> float` to a reward: one number a sibling, at the end of the rollout.

        outcome_i = score(trajectory_i)

    Args:
        score: True and False count as 1 and 0. May be a coroutine function: the siblings are scored at the same time.
        concurrency: most coroutines of a group at the same time, >= 1.

    Returns:
        A reward with outcome [G], without per-turn values.

    Raises:
        VerifierError: `score` raises, also TimeoutError, or returns None, NaN or no number; it names the trajectory.
        InputError: an InputError of `score`, such as TaskError, passes through: the data is at fault; or `concurrency`
            is below 1.

    Example:
        lengths 2, 0, 3 under outcome(lambda trajectory: len(trajectory.final_text))  ->  outcome 2, 0, 3
    """

    def reward(group: Group) -> Scores:
        values = call_scores(score, group, concurrency=concurrency)
        return Scores(np.array([finite_number(value, one) for value, one in zip(values, group)], dtype=np.float64))

    return reward
