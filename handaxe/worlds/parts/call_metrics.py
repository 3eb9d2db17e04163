"""Figures of an evaluation that compare calls with those of reference."""

from collections.abc import Callable, Sequence

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Task, ToolCall, Trajectory
from handaxe.ops.calls import call_key

__all__ = ["REPEATED_CALLS", "USED_TOOLS", "wasted_calls"]

USED_TOOLS = RatioMetric(lambda one, outcome: float(bool(one.calls)))
"""The share of attempts that call a tool; of tasks that need none it is the overuse of arXiv:2502.11435 (SMART)."""

REPEATED_CALLS = RatioMetric(
    lambda one, outcome: float(len(one.calls) - len({call_key(call) for call in one.calls})),
    lambda one, outcome: float(len(one.calls)),
)
"""Of the well-formed calls, the share that equals an earlier one: f(1), g(2), f(1)  ->  1 of 3."""


def wasted_calls(gold: Callable[[Task], Sequence[ToolCall]]) -> RatioMetric:
    """Of the calls made, malformed ones among them, the share that equals no reference call not yet made.

    Args:
        gold: the reference calls of a task.

    Example:
        reference f(1), g(2); made f(1), f(1), h(3), and one that is malformed  ->  3 of 4
    """

    def wasted(attempt: Trajectory, outcome: float) -> float:
        del outcome
        missing = [(call.name, dict(call.arguments)) for call in gold(attempt.task)]
        wrong = _malformed(attempt)
        for call in attempt.calls:
            one = (call.name, dict(call.arguments))
            if one in missing:
                missing.remove(one)
            else:
                wrong += 1
        return float(wrong)

    def made(attempt: Trajectory, outcome: float) -> float:
        del outcome
        return float(len(attempt.calls) + _malformed(attempt))

    return RatioMetric(wasted, made)


def _malformed(attempt: Trajectory) -> int:
    return sum(len(turn.parsed.errors) for turn in attempt.turns)
