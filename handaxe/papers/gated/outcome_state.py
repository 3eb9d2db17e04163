"""Reward for the final state of the work."""

from collections.abc import Callable, Mapping

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["OUTCOMES", "outcome_state"]

OUTCOMES: Mapping[str, float] = {"open": -1.0, "empty": 0.0, "changed": 0.5, "resolved": 1.0}
"""Not submitted; submitted unchanged; submitted with an incorrect change; submitted and correct."""


def outcome_state(*, state: Callable[[Trajectory], str], values: Mapping[str, float] = OUTCOMES) -> Reward:
    """Reward the final state of a rollout.

        R_i = values[state(trajectory_i)]

    Args:
        state: name of a trajectory's final state, such as `papers.gated.workspace.final_state`.
        values: state -> reward. The paper has four states: no submission, an empty patch, a patch, and one that passes
            the tests.

    Returns:
        A reward with outcome [G].

    Raises:
        InputError: a value that is not finite, or a state without a value.

    Example:
        states open, empty, changed, resolved  ->  -1, 0, 0.5, 1

    Paper: arXiv:2508.10548 (G-RA), the outcome level of its software tasks.
    Unconfirmed: the four values.
    Differs: nothing.
    """
    if not np.isfinite(list(values.values())).all():
        raise InputError(f"values of states are finite numbers: {dict(values)}")

    def value(trajectory: Trajectory) -> float:
        found = state(trajectory)
        if found not in values:
            raise InputError(f"trajectory {trajectory.id!r} ended in the state {found!r}; there are {sorted(values)}")
        return values[found]

    return outcome(value)
