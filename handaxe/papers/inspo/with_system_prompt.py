"""Play another strategy on a task that is opened differently."""

from collections.abc import Callable
from dataclasses import replace

from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Task
from handaxe.core.requests import Attempt

__all__ = ["with_system_prompt"]


def with_system_prompt(*, rollout: Rollout, opening: Callable[[Task], Task]) -> Rollout:
    """Play `rollout` on the task that a function makes of the attempt's.

        plan(attempt) = rollout(attempt with task = opening(task))

    Args:
        rollout: the strategy; one that makes no branches.
        opening: asked when the attempt begins; it may know what was learned up to then, and must keep the task's id.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns what `rollout` returns.

    Example:
        opening = lambda task: replace(task, messages=(Message("system", "Be short."), *task.messages))

    Idea: what a policy is told in evaluations may be what training found to be best.
    """

    def opened(attempt: Attempt) -> RolloutPlan:
        return rollout(replace(attempt, task=opening(attempt.task)))

    return opened
