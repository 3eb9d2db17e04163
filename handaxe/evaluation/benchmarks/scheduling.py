"""Simulated time of tool calls: calls of one turn run at the same time, turns one after another.

elapsed = sum over turns of max over the calls of the turn of seconds
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.records import ToolCall
from handaxe.ops.seeds import derive_seed

__all__ = [
    "CallSchedule",
    "SEARCH_SECONDS",
    "call_seconds",
    "called_tool",
    "elapsed_seconds",
    "function_seconds",
    "parallel_plan",
    "sequential_plan",
    "sequential_seconds",
]

SEARCH_SECONDS = 1
"""Simulated seconds of a search, of a choice of tools, and of a call without a known tool."""
LONGEST = 5
"""Simulated seconds of the slowest tool."""


class CallSchedule(NamedTuple):
    """Figures of a schedule: turns with calls, simulated seconds, and seconds of the same calls one after another."""

    turns: int
    elapsed: float
    sequential: float


def call_seconds(call: ToolCall, functions: Mapping[str, str]) -> int:
    """Simulated seconds of a call: 1 to 5 by a digest of the function's name; 1 for a search, a choice or an unknown
    tool.

    Args:
        call: of `find_tools`, `choose_tools` or `call_tool`.
        functions: tool -> function of the package.

    Example:
        the first call takes 1 second, the second 1 to 5, the same in every run:
        find_tools("area")    call_tool("math_gcd", {"a": 4, "b": 6})
    """
    name = called_tool(call)
    return function_seconds(functions[name]) if name in functions else SEARCH_SECONDS


def called_tool(call: ToolCall) -> str:
    """Name of the tool behind a call of `call_tool`; "" for another call, or without a name."""
    name = call.arguments.get("name") if call.name == "call_tool" else None
    return name if isinstance(name, str) else ""


def function_seconds(function: str) -> int:
    """Simulated seconds of a function of the package, 1 to 5."""
    return 1 + derive_seed("tps seconds", function) % LONGEST


def elapsed_seconds(turns: Sequence[Sequence[float]]) -> float:
    """Sum over turns of the longest call; a turn without calls takes no time.

    Args:
        turns: seconds of the calls of each turn.

    Example:
        durations a = 3, b = 2, c = 1: one call a turn takes 6, {a, b} then {c} takes 4, all at once 3

    Paper: arXiv:2511.01527 (TPS-Bench), efficiency of scheduling.
    """
    return float(sum(max(calls, default=0) for calls in turns))


def sequential_seconds(turns: Sequence[Sequence[float]]) -> float:
    """Seconds of the same calls one after another."""
    return float(sum(sum(calls) for calls in turns))


def sequential_plan(steps: Sequence[Mapping[str, Any]], *, choice: bool = False) -> CallSchedule:
    """Schedule of a task with one call a turn: a search and a call for each step.

    Args:
        steps: of all chains, in order.
        choice: one choice of all tools replaces the searches.

    Example:
        steps with seconds 3 and 2: turns {1}, {3}, {1}, {2}; with a choice {1}, {3}, {2}
    """
    seconds = [function_seconds(step["function"]) for step in steps]
    calls = [SEARCH_SECONDS, *seconds] if choice else [one for each in seconds for one in (SEARCH_SECONDS, each)]
    return _plan([[one] for one in calls])


def parallel_plan(steps: Sequence[Mapping[str, Any]], chains: Sequence[int], *, choice: bool = False) -> CallSchedule:
    """Schedule of a task with every search in the first turn, and step k of all chains in turn k + 1.

    The number of turns is the smallest that the dependencies allow.

    Args:
        steps: of all chains, in order.
        chains: number of steps of each chain.
        choice: one choice of all tools replaces the searches.

    Example:
        chains of 2 and 1 steps with seconds 3, 2 and 1: turns {1, 1, 1}, {3, 1}, {2}; 3 turns, 1 + 3 + 2 = 6 seconds
        instead of 9
    """
    turns: list[list[float]] = [[] for _ in range(max(chains, default=0))]
    rest = iter(steps)
    for length in chains:
        for depth in range(length):
            turns[depth].append(function_seconds(next(rest)["function"]))
    return _plan([[SEARCH_SECONDS] * (1 if choice else len(steps)), *turns])


def _plan(turns: Sequence[Sequence[float]]) -> CallSchedule:
    return CallSchedule(sum(bool(calls) for calls in turns), elapsed_seconds(turns), sequential_seconds(turns))
