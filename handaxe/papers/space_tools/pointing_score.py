"""Reward for a pointed pixel: 1 inside the object, else by the distance to its centre."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, hypot, sqrt

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["pointing_score"]

DECAY = 5.0
"""Rate of the decay with the distance."""
FARTHEST = exp(-DECAY * sqrt(2))
"""Value of the decay across the whole image."""


def pointing_score(
    *,
    found: Callable[[Trajectory], Sequence[float] | None],
    centre: Callable[[Task], Sequence[float]],
    box: Callable[[Task], Sequence[float]],
    side: float,
) -> Reward:
    """Score a point, from 0 in the far corner to 1 inside the object's box.

        d   = |p - c| / side                                              p the point, c the centre of the object
        s   = (exp(-5 d) - exp(-5 sqrt 2)) / (1 - exp(-5 sqrt 2))
        R_i = 1 if left <= p_x < right and top <= p_y < bottom, else max(0, s)

    Args:
        found: the answered point, x and y; None without one.
        centre: task -> x and y of the object's centre.
        box: task -> left, top, right and bottom of the object.
        side: of the image, in the unit of the points.

    Returns:
        A reward with outcome [G] in [0, 1]. No point: 0.

    Raises:
        InputError: `side` is not positive.

    Example:
        side 1, centre (0.5, 0.5), an object without extent: d = 0.1 -> 0.606, d = 0.5 -> 0.081

    Paper: arXiv:2512.04069 (SpaceTools), its reward of pointing.
    Differs: nothing known.
    """
    if not side > 0:
        raise InputError(f"side is {side}; give a positive length")

    def score(trajectory: Trajectory) -> float:
        point = found(trajectory)
        if point is None:
            return 0.0
        x, y = (float(value) for value in point)
        left, top, right, bottom = box(trajectory.task)
        if left <= x < right and top <= y < bottom:
            return 1.0
        middle = centre(trajectory.task)
        distance = hypot(x - middle[0], y - middle[1]) / side
        return max(0.0, (exp(-DECAY * distance) - FARTHEST) / (1 - FARTHEST))

    return outcome(score)
