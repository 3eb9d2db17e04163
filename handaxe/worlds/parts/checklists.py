"""Criteria from reference calls: each call in order, then the answer."""

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Task, ToolCall, Trajectory, Turn
from handaxe.ops.tool_calls import format_call
from handaxe.rewards.parts.reference import gold_answers, normalise

__all__ = ["call_check", "call_criteria"]

ANSWER = "answer"


def call_criteria(
    gold: Callable[[Task], Sequence[ToolCall]], *, in_order: bool = True
) -> Callable[[Task], list[Criterion]]:
    """Create criteria, worth 1 point each: every reference call, then the answer.

    Args:
        gold: (task) -> reference calls.
        in_order: a call counts only after the call before it, and the answer only after the last call.

    Example:
        two calls -> "call 0"; "call 1", after "call 0"; "answer", after "call 1"
    """

    def criteria(task: Task) -> list[Criterion]:
        made: list[Criterion] = []
        calls = list(gold(task))
        for number, call in enumerate(calls):
            previous = (f"call {number - 1}",) if in_order and number else ()
            made.append(Criterion(f"call {number}", f"It calls {format_call(call)}.", after=previous))
        last = (made[-1].name,) if in_order and made else ()
        return [*made, Criterion(ANSWER, "It states the right answer.", after=last)]

    return criteria


def call_check(
    gold: Callable[[Task], Sequence[ToolCall]],
    *,
    is_answer: Callable[[Turn], bool],
    correct: Callable[[Task, str], bool] | None = None,
) -> Check:
    """Check the criteria of `call_criteria` by rule.

    A call is met by the first equal and successful call of the rollout; each call counts once. The answer is met by a
    turn that states it.

    Args:
        gold: (task) -> reference calls.
        is_answer: whether a turn states an answer.
        correct: (task, text) -> whether the text is correct; None compares as `exact_match` does.

    Example:
        search("kemi boss") in turn 0, the answer in turn 2 -> [[1, 1, 1], [0, 0, 1]]
    """
    compare = _equals if correct is None else correct

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
            if ANSWER in place and is_answer(turn) and compare(trajectory.task, turn.parsed.text):
                met_CN[place[ANSWER], n:] = True
        return met_CN

    return check


def _plain(call: ToolCall) -> tuple[str, dict]:
    return call.name, dict(call.arguments)


def _equals(task: Task, text: str) -> bool:
    answer = normalise(text)
    return bool(answer) and answer in {normalise(gold) for gold in gold_answers(task)}
