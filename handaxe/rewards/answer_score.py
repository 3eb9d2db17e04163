"""Rewards an answer by the task's own scorer."""

from collections.abc import Callable

from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text

__all__ = ["answer_score"]


def answer_score(*, scorer: Callable[[Task, str], float], extract: Callable[[Trajectory], str] = final_text) -> Reward:
    """Give what a scorer says of the answer text.

        R_i = scorer(task, extract(trajectory_i))

    Args:
        scorer: (task, answer text) -> finite number, such as the scorer that came with a data set.
        extract: what the answer text is.

    Returns:
        A reward with outcome [G]. A trajectory without a turn is scored on the empty text.

    Raises:
        VerifierError: naming the trajectory, when the scorer raises or returns no finite number.

    Example:
        scorer len(text) / 10; final texts "four", ""  ->  0.4, 0

    Idea: many task sources bring a scorer of their own; it should not have to know what a trajectory is.
    """
    return outcome(lambda trajectory: scorer(trajectory.task, extract(trajectory)))
