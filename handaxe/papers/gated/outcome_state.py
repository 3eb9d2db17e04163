"""Rewards the state in which an attempt left its work."""

from collections.abc import Callable, Mapping

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["OUTCOMES", "outcome_state"]

OUTCOMES: Mapping[str, float] = {"open": -1.0, "empty": 0.0, "changed": 0.5, "resolved": 1.0}
"""Not submitted; submitted as it was; submitted with a change that is not right; submitted and right."""


def outcome_state(*, state: Callable[[Trajectory], str], values: Mapping[str, float] = OUTCOMES) -> Reward:
    """Give what the state is worth in which an attempt ended.

        R_i = values[state(trajectory_i)]

    Args:
        state: names the state of an attempt, such as `papers.gated.workspace.state_of`.
        values: state -> reward. The paper tells four apart: no submission, an empty patch, a patch, and one that
            passes the tests.

    Returns:
        A reward with outcome [G].

    Raises:
        InputError: a value that is not finite, or a state that has none.

    Example:
        states open, empty, changed, resolved  ->  -1, 0, 0.5, 1

    Paper: arXiv:2508.10548 (G-RA), the outcome level of its software tasks.
    Unconfirmed: the four values.
    Differs: nothing.
    """
    if not np.isfinite(list(values.values())).all():
        raise InputError(f"values of states are finite numbers: {dict(values)}")

    def worth(trajectory: Trajectory) -> float:
        found = state(trajectory)
        if found not in values:
            raise InputError(f"trajectory {trajectory.id!r} ended in the state {found!r}; there are {sorted(values)}")
        return values[found]

    return outcome(worth)
