"""Rewards reference calls that were made, argument for argument."""

from collections.abc import Callable, Sequence

from handaxe.errors import TaskError
from handaxe.records import Task, ToolCall, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_calls
from handaxe.slots import Reward

__all__ = ["call_match"]


def call_match(*, most: float = 0.5, gold: Callable[[Task], Sequence[ToolCall]] = gold_calls) -> Reward:
    """Give the share of reference calls that the trajectory reproduced, in any order.

        R_i = FR_max * F_match / F_total
        F_total = reference calls;  F_match = those equal in name and arguments to a call made, each call used once

    Further calls cost nothing.

    Args:
        most: FR_max, reward of all of them.
        gold: the reference calls of a task.

    Returns:
        A reward with outcome [G] in [0, most].

    Raises:
        TaskError: the task has no reference call.

    Example:
        2 of 4 reference calls made, most 0.5  ->  0.25

    Paper: arXiv:2505.01441 (ARTIST), R_function.
    Unconfirmed: FR_max = 0.5.
    Differs: the paper matches user turn by user turn; here the whole trajectory is one pool.
    """

    def score(trajectory: Trajectory) -> float:
        wanted = gold(trajectory.task)
        if not wanted:
            raise TaskError(f"task {trajectory.task.id!r} names no call to compare")
        unused = [(call.name, dict(call.arguments)) for call in trajectory.calls]
        matched = 0
        for call in wanted:
            one = (call.name, dict(call.arguments))
            if one in unused:
                unused.remove(one)
                matched += 1
        return most * matched / len(wanted)

    return outcome(score)
