"""Rewards a click by the target boxes."""

from collections.abc import Callable, Sequence
from math import dist, hypot

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.checks import is_number
from handaxe.rewards.parts.points import call_point

__all__ = ["click_reward"]


def click_reward(
    *,
    boxes: Callable[[Task], Sequence[Sequence[float]]],
    sides: Sequence[float] | None = None,
    action: str = "click",
) -> Reward:
    """Give 1 for a click in a target box, borders included; or, with sides, more for a click nearer to its centre.

        c = (x, y): first call of `action` in the last turn with a call; B: the boxes of the task
        sides None    R_i = 1[some b of B has left <= x <= right and top <= y <= bottom]
        sides (W, H)  R_i = max_b max(0, 1 - |c - centre of b| / sqrt(W^2 + H^2))
        0 without such a call, or one without a point

    Args:
        boxes: the targets of a task: left, top, right, bottom, in the unit of the clicks.
        sides: width and height of the screen, for the reward by distance.
        action: name of the call with arguments x and y, or point.

    Returns:
        A reward with outcome [G] in [0, 1].

    Raises:
        InputError: sides that are not two positive numbers. TaskError: a task without a box, or one that is not four
            finite numbers.

    Example:
        box (10, 10, 20, 20): click (15, 20) -> 1, click (21, 15) -> 0; with sides (30, 40), centre (15, 15), click
        (15, 20) at distance 5 of 50 -> 0.9

    Paper: arXiv:2507.05791 (GTA1), the click reward, as in released code; the reward by distance is the alternative
        that the paper compares.
    Differs: a click is a call, where released code parses "(x,y)" in <answer> tags.
    Unconfirmed: the form of the reward by distance.
    """
    if sides is not None and not (len(sides) == 2 and all(side > 0 for side in sides)):
        raise InputError(f"sides is {sides}; give the width and height of the screen, both above 0")

    def score(trajectory: Trajectory) -> float:
        task = trajectory.task
        targets = [tuple(box) for box in boxes(task)]
        if not targets or any(len(box) != 4 or not all(is_number(side) for side in box) for box in targets):
            raise TaskError(
                f"task {task.id!r} has the boxes {targets}; give left, top, right and bottom of one or more"
            )
        point = _point(trajectory, action)
        if point is None:
            return 0.0
        if sides is None:
            return float(any(_contains(box, point) for box in targets))
        return max(0.0, max(1 - dist(point, _centre(box)) / hypot(*sides) for box in targets))

    return outcome(score)


def _point(trajectory: Trajectory, action: str) -> tuple[float, float] | None:
    calling = [turn.parsed.calls for turn in trajectory.turns if turn.parsed.calls]
    made = next((call for call in calling[-1] if call.name == action), None) if calling else None
    return None if made is None else call_point(made)


def _contains(box: Sequence[float], point: tuple[float, float]) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _centre(box: Sequence[float]) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
