"""Rollout on a task with another opening, such as a system prompt."""

from collections.abc import Callable
from dataclasses import replace

from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Task
from handaxe.core.requests import Attempt

__all__ = ["with_system_prompt"]


def with_system_prompt(*, rollout: Rollout, opening: Callable[[Task], Task]) -> Rollout:
    """Play `rollout` on a transformed task.

        plan(attempt) = rollout(attempt with task = opening(task))

    Args:
        rollout: strategy without branches.
        opening: task -> task with the same id; called when the rollout starts, so that it may read state of the
            training.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the trajectories of `rollout`.

    Example:
        opening = lambda task: replace(task, messages=(Message("system", "Be short."), *task.messages))

    Idea: evaluations may use the system prompt that training found to be best.
    """

    def opened(attempt: Attempt) -> RolloutPlan:
        return rollout(replace(attempt, task=opening(attempt.task)))

    return opened
