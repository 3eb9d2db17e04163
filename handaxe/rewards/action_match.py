"""Rewards one action on a screen: of the right type, at the right place or with the right words."""

from collections.abc import Callable, Sequence
from math import dist

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, ToolCall, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.checks import is_number
from handaxe.rewards.parts.reference import gold_calls

__all__ = ["action_match"]


def action_match(
    *,
    gold: Callable[[Task], Sequence[ToolCall]] = gold_calls,
    box: Callable[[Task], Sequence[float]] | None = None,
    placed: tuple[str, ...] = ("click",),
    worded: tuple[str, ...] = ("write", "type", "select", "scroll"),
    near: float = 140.0,
    least_f1: float = 0.5,
) -> Reward:
    """Give 1 to an attempt whose action is the right one in type and in place or words, else 0.

        a, g     the first call of the last turn that calls, and the task's reference call
        R_i = 0                                               where a is missing, or its name is not g's
            = 1[a lies in the box, or |a - g| < near]         where g's name is in `placed`
            = 1[a's ref is g's]                               where such a g has a number `ref` and no x and y
            = 1[F1(words of a, words of g) >= least_f1]       where it is in `worded`
            = 1                                               for any other type

    In the box is strictly inside. F1 is of sets of lower-case words: 2 |both| / (|a| + |g|), where words are those of
    all arguments together. Only parsed calls are read; nothing that the policy wrote is evaluated.

    Args:
        gold: the reference calls of a task, of which the first counts.
        box: the target of a task: left, low, right, high. None: only the distance decides.
        placed: types of actions with arguments x and y, in the unit of the screen (pixels in the paper), or with `ref`,
            the number of an element in a list.
        worded: types of actions that are compared by their words.
        near: how far from the reference point is near enough, in that unit; 140 in released code. 0: the box alone.
        least_f1: 0.5 in released code.

    Returns:
        A reward with outcome [G] of 0 and 1. An attempt without a turn or a call: 0.

    Raises:
        InputError: a negative `near`, or `least_f1` out of (0, 1]. TaskError: a task without a reference call, whose
            reference is to be placed and has neither x and y nor ref, or whose box is not four finite numbers.

    Example:
        gold click (110, 50), box (100, 40, 120, 60), near 8: click (101, 50), 9 away but in the box, -> 1;
        (121, 50), 11 away, -> 0, and 1 where near is 12; scroll -> 0
        gold click (ref 3): click (ref 3) -> 1, (ref 2) -> 0
        gold write "red car": write "Car red" -> 1, "red bus" (F1 0.5) -> 1, "bus" -> 0

    Paper: arXiv:2504.10458 (GUI-R1), its accuracy reward, as in released code.
    Differs: calls are read by the chat format, where released code evaluates the text of a list; elements that are
        clicked by number, which are compared by it.
    """
    if not near >= 0 or not 0 < least_f1 <= 1:
        raise InputError(f"near is 0 or more and least_f1 above 0 and at most 1, not {near} and {least_f1}")

    def score(trajectory: Trajectory) -> float:
        task = trajectory.task
        wanted = list(gold(task))
        if not wanted:
            raise TaskError(f"task {task.id!r} has no reference action; give it one call")
        point = _point(wanted[0])
        area = None if box is None else _checked(box(task), task)
        listed = point is None and is_number(wanted[0].arguments.get("ref"))
        if wanted[0].name in placed and point is None and not listed:
            raise TaskError(
                f"task {task.id!r}: the reference action {wanted[0].name!r} has no numbers x and y, nor ref"
            )
        calling = [turn.parsed.calls for turn in trajectory.turns if turn.parsed.calls]
        if not calling or calling[-1][0].name != wanted[0].name:
            return 0.0
        made = calling[-1][0]
        if made.name in placed and listed:
            said = made.arguments.get("ref")
            return float(is_number(said) and said == wanted[0].arguments["ref"])
        if made.name in placed:
            return float(_hits(_point(made), point, area, near))
        return float(made.name not in worded or _f1(made, wanted[0]) >= least_f1)

    return outcome(score)


def _point(call: ToolCall) -> tuple[float, float] | None:
    said = [call.arguments.get(name) for name in ("x", "y")]
    x, y = (float(one) if is_number(one) else None for one in said)
    return None if x is None or y is None else (x, y)


def _checked(box: Sequence[float], task: Task) -> Sequence[float]:
    if len(box) != 4 or not all(is_number(one) for one in box):
        raise TaskError(f"task {task.id!r} has the box {list(box)!r}; give left, low, right and high side")
    return box


def _hits(
    said: tuple[float, float] | None, wanted: tuple[float, float] | None, area: Sequence[float] | None, near: float
) -> bool:
    if said is None or wanted is None:
        return False
    inside = area is not None and area[0] < said[0] < area[2] and area[1] < said[1] < area[3]
    return inside or dist(said, wanted) < near


def _f1(said: ToolCall, wanted: ToolCall) -> float:
    words, gold = _words(said), _words(wanted)
    return 2 * len(words & gold) / (len(words) + len(gold)) if words and gold else 0.0


def _words(call: ToolCall) -> set[str]:
    return set(" ".join(map(str, call.arguments.values())).lower().split())
