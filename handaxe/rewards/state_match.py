"""Rewards the agreement of the final state of the environment with the wanted one."""

from collections.abc import Callable, Mapping
from typing import Any

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.reference import gold_state

__all__ = ["state_match"]


def state_match(
    *,
    max_score: float = 0.5,
    gold: Callable[[Task], Mapping[str, Any]] = gold_state,
    state: Callable[[Trajectory], Mapping[str, Any]] = lambda trajectory: trajectory.env,
) -> Reward:
    """Give the share of wanted state attributes with their wanted values at the end.

        R_i = SR_max * S_match / S_total
        S_total = attributes of `gold`;  S_match = those with the same value in `state`

    Attributes without a wanted value are not compared.

    Args:
        max_score: SR_max, reward of a full match.
        gold: the wanted attributes of a task; default the entry "state" of its answer.
        state: the final attributes; default the report of the environment.

    Returns:
        A reward with outcome [G] in [0, max_score].

    Raises:
        TaskError: the task has no wanted attribute.

    Example:
        3 of 4 attributes equal, max_score 0.5  ->  0.375

    Paper: arXiv:2505.01441 (ARTIST), R_state.
    Unconfirmed: SR_max = 0.5.
    Differs: nothing known.
    """

    def score(trajectory: Trajectory) -> float:
        wanted, found = gold(trajectory.task), state(trajectory)
        if not wanted:
            raise TaskError(f"task {trajectory.task.id!r} has no state attribute to compare")
        return max_score * sum(key in found and found[key] == value for key, value in wanted.items()) / len(wanted)

    return outcome(score)
