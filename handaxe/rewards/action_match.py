"""Rewards an action on a screen by type and by place or words."""

from collections.abc import Callable, Sequence
from math import dist

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, ToolCall, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.checks import is_number
from handaxe.rewards.parts.points import call_point
from handaxe.rewards.parts.reference import gold_calls

__all__ = ["action_match"]


def action_match(
    *,
    gold: Callable[[Task], Sequence[ToolCall]] = gold_calls,
    box: Callable[[Task], Sequence[float]] | None = None,
    point_actions: tuple[str, ...] = ("click",),
    text_actions: tuple[str, ...] = ("write", "type", "select", "scroll"),
    radius: float = 140.0,
    min_f1: float = 0.5,
) -> Reward:
    """Give 1 for an action of the correct type, at the correct place or with the correct words, else 0.

        a, g     first call of the last turn with a call, and the task's reference call
        R_i = 0                                               if a is missing, or its name differs from g's
            = 1[a lies in the box, or |a - g| < radius]       if g's name is in `point_actions`
            = 1[a's ref equals g's]                           if such a g has a number `ref` and no point
            = 1[F1(words of a, words of g) >= min_f1]         if g's name is in `text_actions`
            = 1                                               for any other type

    A point on the border of the box is outside. F1 compares sets of lower-case words, 2 |both| / (|a| + |g|), over the
    words of all arguments. Only parsed calls are read; no text of the policy is evaluated.

    Args:
        gold: the reference calls of a task; the first one counts.
        box: the target of a task: left, low, right, high. None: only the distance decides.
        point_actions: types of actions with arguments x and y, or with `point`, a text or list of the two, in the unit
            of the screen (pixels in the paper); or with `ref`, the number of an element in a list.
        text_actions: types of actions compared by their words.
        radius: distance from the reference point below which an action hits, in that unit; 140 in released code. 0: the
            box alone.
        min_f1: 0.5 in released code.

    Returns:
        A reward with outcome [G] of 0 and 1. A rollout without a turn or a call: 0.

    Raises:
        InputError: a negative radius, or min_f1 outside (0, 1]. TaskError: a task without a reference call, a reference
            point action without a point or ref, or a box that is not four finite numbers.

    Example:
        gold click (110, 50), box (100, 40, 120, 60), radius 8: click (101, 50), at distance 9 in the box, -> 1;
        (121, 50), at distance 11, -> 0, and 1 at radius 12; scroll -> 0
        gold click (ref 3): click (ref 3) -> 1, (ref 2) -> 0
        gold write "red car": write "Car red" -> 1, "red bus" (F1 0.5) -> 1, "bus" -> 0

    Paper: arXiv:2504.10458 (GUI-R1), its accuracy reward, as in released code.
    Differs: calls are read by the chat format, where released code evaluates the text of a list. Elements clicked by
        number are compared by number.
    """
    if not radius >= 0 or not 0 < min_f1 <= 1:
        raise InputError(f"radius is 0 or more and min_f1 above 0 and at most 1, not {radius} and {min_f1}")

    def score(trajectory: Trajectory) -> float:
        task = trajectory.task
        wanted = list(gold(task))
        if not wanted:
            raise TaskError(f"task {task.id!r} has no reference action; give it one call")
        point = call_point(wanted[0])
        area = None if box is None else _checked(box(task), task)
        listed = point is None and is_number(wanted[0].arguments.get("ref"))
        if wanted[0].name in point_actions and point is None and not listed:
            raise TaskError(
                f"task {task.id!r}: the reference action {wanted[0].name!r} has no numbers x and y, point, nor ref"
            )
        calling = [turn.parsed.calls for turn in trajectory.turns if turn.parsed.calls]
        if not calling or calling[-1][0].name != wanted[0].name:
            return 0.0
        made = calling[-1][0]
        if made.name in point_actions and listed:
            ref = made.arguments.get("ref")
            return float(is_number(ref) and ref == wanted[0].arguments["ref"])
        if made.name in point_actions:
            return float(_hits(call_point(made), point, area, radius))
        return float(made.name not in text_actions or _f1(made, wanted[0]) >= min_f1)

    return outcome(score)


def _checked(box: Sequence[float], task: Task) -> Sequence[float]:
    if len(box) != 4 or not all(is_number(one) for one in box):
        raise TaskError(f"task {task.id!r} has the box {list(box)!r}; give left, low, right and high side")
    return box


def _hits(
    predicted: tuple[float, float] | None,
    wanted: tuple[float, float] | None,
    area: Sequence[float] | None,
    radius: float,
) -> bool:
    if predicted is None or wanted is None:
        return False
    inside = area is not None and area[0] < predicted[0] < area[2] and area[1] < predicted[1] < area[3]
    return inside or dist(predicted, wanted) < radius


def _f1(predicted: ToolCall, wanted: ToolCall) -> float:
    words, gold = _words(predicted), _words(wanted)
    return 2 * len(words & gold) / (len(words) + len(gold)) if words and gold else 0.0


def _words(call: ToolCall) -> set[str]:
    return set(" ".join(map(str, call.arguments.values())).lower().split())
