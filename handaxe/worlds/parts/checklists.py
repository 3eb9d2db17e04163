"""Criteria of worlds that keep reference calls: each call made, one after the other, and then the answer."""

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Task, ToolCall, Trajectory, Turn
from handaxe.ops.calls import told_call
from handaxe.rewards.parts.reference import gold_answers, normalise

__all__ = ["call_check", "call_criteria"]

ANSWER = "answer"


def call_criteria(
    gold: Callable[[Task], Sequence[ToolCall]], *, in_order: bool = True
) -> Callable[[Task], list[Criterion]]:
    """Make the criteria of a task of its reference calls and its answer, each worth one point.

    Args:
        gold: the reference calls of a task.
        in_order: each call counts only after the one before it, and the answer after the last.

    Example:
        two calls  ->  "call 0"; "call 1", after "call 0"; "answer", after "call 1"
    """

    def criteria(task: Task) -> list[Criterion]:
        made: list[Criterion] = []
        calls = list(gold(task))
        for number, call in enumerate(calls):
            after = (f"call {number - 1}",) if in_order and number else ()
            made.append(Criterion(f"call {number}", f"It calls {told_call(call)}.", after=after))
        last = (made[-1].name,) if in_order and made else ()
        return [*made, Criterion(ANSWER, "It states the right answer.", after=last)]

    return criteria


def call_check(
    gold: Callable[[Task], Sequence[ToolCall]],
    *,
    answered: Callable[[Turn], bool],
    right: Callable[[Task, str], bool] | None = None,
) -> Check:
    """Check the criteria of `call_criteria` by rule.

    A call is met by the first call made that equals it and was carried out without error, each call made used once; the
    answer by a turn that states it.

    Args:
        gold: the reference calls of a task.
        answered: whether a turn states an answer.
        right: (task, text) whether it is right; None compares as `exact_match` does.

    Example:
        search("kemi boss") in turn 0, the answer in turn 2  ->  [[1, 1, 1], [0, 0, 1]]
    """
    compare = _equals if right is None else right

    def check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        place = {one.name: c for c, one in enumerate(criteria)}
        missing = {f"call {number}": _plain(call) for number, call in enumerate(gold(trajectory.task))}
        met_CN = np.zeros((len(criteria), len(trajectory.turns)), bool)
        for n, turn in enumerate(trajectory.turns):
            failed = {reply.call_id for reply in turn.replies if reply.status != "ok"}
            for call in turn.parsed.calls:
                name = next((name for name, wanted in missing.items() if wanted == _plain(call)), None)
                if name is not None and call.id not in failed:
                    del missing[name]
                    if name in place:
                        met_CN[place[name], n:] = True
            if ANSWER in place and answered(turn) and compare(trajectory.task, turn.parsed.text):
                met_CN[place[ANSWER], n:] = True
        return met_CN

    return check


def _plain(call: ToolCall) -> tuple[str, dict]:
    return call.name, dict(call.arguments)


def _equals(task: Task, text: str) -> bool:
    said = normalise(text)
    return bool(said) and said in {normalise(gold) for gold in gold_answers(task)}
