"""Building blocks of experts: calls in order, one per turn, then the answer."""

import re
from collections.abc import Callable, Sequence

from handaxe.core.records import Message, Task, ToolCall
from handaxe.worlds.world import Expert, Facts

__all__ = ["arithmetic_call", "calls_then_answer"]

STEP = re.compile(r"\s*(-?\d+)\s*(//|[-+*%])\s*(-?\d+)\s*")
FUNCTION = re.compile(r"(gcd|lcm)\(")


def calls_then_answer(calls: Callable[[Task, Facts], Sequence[ToolCall]]) -> Expert:
    """Create an expert with a task's calls as turns, followed by the task's answer.

    Args:
        calls: (task, facts) -> all calls of the task, in order.

    Example:
        two calls: turn 0 makes the first, turn 1 the second, turn 2 states the answer
    """

    def expert(task: Task, facts: Facts) -> Message:
        wanted = calls(task, facts)
        if facts["turn"] < len(wanted):
            return Message("assistant", "", (wanted[facts["turn"]],))
        return Message("assistant", str(task.answer))

    return expert


def arithmetic_call(expression: str, offered: Sequence[str]) -> tuple[ToolCall, ...]:
    """Return the call that computes an expression with the first suitable offered tool; () if no tool is suitable.

    Args:
        expression: such as "12*34" or "gcd(12,18)".
        offered: names of tools; calculator, compute (two whole numbers) and python are known.

    Example:
        ("12*34", ["compute"]) -> (ToolCall("compute", {"left": 12, "operator": "*", "right": 34}),)
    """
    for name in offered:
        if name == "calculator":
            return (ToolCall(name, {"expression": expression}),)
        if name == "compute" and (step := STEP.fullmatch(expression)):
            return (ToolCall(name, {"left": int(step[1]), "operator": step[2], "right": int(step[3])}),)
        if name == "python":
            code = f"import math;math.{expression}" if FUNCTION.match(expression) else expression
            return (ToolCall(name, {"code": code}),)
    return ()
