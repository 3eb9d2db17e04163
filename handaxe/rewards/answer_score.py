"""Rewards an answer by a scorer of the task source."""

from collections.abc import Callable

from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import final_text

__all__ = ["answer_score"]


def answer_score(*, scorer: Callable[[Task, str], float], extract: Callable[[Trajectory], str] = final_text) -> Reward:
    """Score the answer text by a function.

        R_i = scorer(task, extract(trajectory_i))

    Args:
        scorer: (task, answer text) -> finite number, such as the scorer of a data set.
        extract: the answer text of a trajectory.

    Returns:
        A reward with outcome [G]. A trajectory without a turn is scored on the empty text.

    Raises:
        VerifierError: the scorer raises or returns no finite number; it names the trajectory.

    Example:
        scorer len(text) / 10; final texts "four", ""  ->  0.4, 0

    Idea: scorers of task sources read a task and a text, and need no trajectory.
    """
    return outcome(lambda trajectory: scorer(trajectory.task, extract(trajectory)))
