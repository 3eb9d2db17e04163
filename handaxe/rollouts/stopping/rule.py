"""When a group may be stopped early: the signature of a stop rule, and what all of them ask."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory

__all__ = ["Measure", "StopRule", "successes"]

StopRule = Callable[[Sequence[Trajectory], int], bool]
"""(trajectories of the attempts that ended so far, attempts the group is to have) -> whether the rest is stopped.

It is asked whenever an attempt of the group ends. It sees what may be scored: no attempt that the infrastructure broke,
none that was stopped or superseded."""

Measure = Callable[[Trajectory], float]
"""How good a trajectory is. It must say what the reward will say, and be cheap: it runs while others are sampled."""


def successes(ended: Sequence[Trajectory], score: Measure, above: float) -> int:
    """How many of the trajectories score strictly above a bar.

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
