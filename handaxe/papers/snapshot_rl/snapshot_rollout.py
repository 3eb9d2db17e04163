"""Rollout strategy that starts at a snapshot, with a time limit counted from there."""

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Trajectory
from handaxe.core.requests import Attempt
from handaxe.rollouts.play import Rules
from handaxe.rollouts.rewind import rewind

__all__ = ["snapshot_rollout"]


def snapshot_rollout(
    *, starts: Callable[[Attempt], tuple[Trajectory, int] | None], truncate: int, after: Rollout
) -> Rollout:
    """Continue a recorded rollout from a turn, for a limited number of turns.

        rollout     = recorded turns 0 .. k - 1, replayed, then new turns
        turn limit  = k + truncation

    The recorded turns precede `branch_of`; `advantages.mask_shared_prefix` excludes them from training.

    Args:
        starts: recorded rollout of the attempt's task, and turn k; None plays `after`.
        truncate: new turns, >= 1; 100 steps in the paper, of 1000.
        after: strategy of the true starts.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory.

    Raises:
        InputError: truncate below 1, or an error of `rewind`.

    Example:
        a start at turn 4, truncate 6: the rollout ends truncated for "turns" after turn 9, the tenth

    Paper: arXiv:2403.00673 (S3RL), student trajectory truncation: elapsed steps + truncation.
    Differs: the state is reached by replay, see `rollouts.rewind`, instead of a copy of the environment.
    """
    if truncate < 1:
        raise InputError(f"truncate is {truncate}; give 1 turn or more after a snapshot")

    def rollout(attempt: Attempt) -> RolloutPlan:
        found = starts(attempt)
        if found is None:
            return (yield from after(attempt))
        recorded, turn = found
        return [(yield from rewind(attempt, Rules(max_turns=turn + truncate), recorded, turn=turn).run())]

    return rollout
