"""Signature of stop rules for groups, and a shared count of successes."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory

__all__ = ["Measure", "StopRule", "successes"]

StopRule = Callable[[Sequence[Trajectory], int], bool]
"""(trajectories of ended rollouts, group size) -> True stops the rest of the group.

Called whenever a rollout of the group ends. The trajectories are scorable: none failed by infrastructure, was stopped
or superseded.
"""

Measure = Callable[[Trajectory], float]
"""Quality of a trajectory. It must agree with the reward, and be cheap: it runs during sampling."""


def successes(ended: Sequence[Trajectory], score: Measure, above: float) -> int:
    """Count the trajectories with a score strictly above a threshold.

    Raises:
        InputError: a score that is NaN, with the trajectory's id.
    """
    right = 0
    for one in ended:
        value = float(score(one))
        if value != value:
            raise InputError(
                f"the stop rule's score of {one.id} is NaN; give a score that is defined for every attempt"
            )
        right += value > above
    return right
