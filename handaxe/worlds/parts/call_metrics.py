"""Evaluation metrics of calls."""

from collections.abc import Callable, Sequence

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Task, ToolCall, Trajectory
from handaxe.ops.tool_calls import call_key

__all__ = ["REPEATED_CALLS", "USED_TOOLS", "wasted_calls"]

USED_TOOLS = RatioMetric(lambda one, outcome: float(bool(one.calls)))
"""The share of rollouts with a tool call; on tasks that need none, the overuse of arXiv:2502.11435 (SMART)."""

REPEATED_CALLS = RatioMetric(
    lambda one, outcome: float(len(one.calls) - len({call_key(call) for call in one.calls})),
    lambda one, outcome: float(len(one.calls)),
)
"""The share of well-formed calls that equal an earlier call: f(1), g(2), f(1) -> 1 of 3."""


def wasted_calls(gold: Callable[[Task], Sequence[ToolCall]]) -> RatioMetric:
    """Create the share of calls without a matching remaining reference call; malformed calls count.

    Args:
        gold: (task) -> reference calls.

    Example:
        reference f(1), g(2); calls f(1), f(1), h(3), and a malformed one -> 3 of 4
    """

    def wasted(trajectory: Trajectory, outcome: float) -> float:
        del outcome
        missing = [(call.name, dict(call.arguments)) for call in gold(trajectory.task)]
        count = _malformed(trajectory)
        for call in trajectory.calls:
            one = (call.name, dict(call.arguments))
            if one in missing:
                missing.remove(one)
            else:
                count += 1
        return float(count)

    def made(trajectory: Trajectory, outcome: float) -> float:
        del outcome
        return float(len(trajectory.calls) + _malformed(trajectory))

    return RatioMetric(wasted, made)


def _malformed(trajectory: Trajectory) -> int:
    return sum(len(turn.parsed.errors) for turn in trajectory.turns)
