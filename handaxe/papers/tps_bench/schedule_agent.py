"""Scripted agents with different schedules of equal calls."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.evaluation.benchmarks.tool_choice import choice_reference
from handaxe.worlds.world import Expert, Facts

__all__ = ["last_results", "next_calls", "predecessors", "schedule_agent"]

GUESS = 0
"""Argument in place of a result that is not there yet."""


def schedule_agent(*, width: int | None = None, waits: bool = True) -> Expert:
    """Make an agent for one rollout of a compounding task.

    Each turn has the first `width` possible calls, in the order of the subtasks: a search for every subtask without a
    search, and a call for every subtask with a found tool. Where tools are chosen from a list, a choice of the needed
    tools in the first turn replaces the searches. A waiting agent calls a subtask after its predecessor in the
    chain; a reckless agent sends a guess for the missing result. No call is repeated. The answer has the received
    results of the last subtasks.

    Args:
        width: most calls of a turn, 1 or more; None for no limit.
        waits: respect dependencies.

    Returns:
        An expert with state, for a single rollout.

    Raises:
        InputError: width below 1.

    Example:
        chains of 2 and 1 subtasks: width 1 takes six turns with one call each; no limit takes turns of 3 searches, 2
        calls and 1 call; without waiting, turns of 3 searches and 3 calls, and the second subtask fails

    Paper: arXiv:2511.01527 (TPS-Bench), sequential and parallel scheduling.
    Differs: scripted agents instead of language models.
    """
    if width is not None and width < 1:
        raise InputError(f"width is {width}: give 1 call a turn or more, or None for no limit")
    searched = set[int]()
    called = set[int]()

    def speak(task: Task, facts: Facts) -> Message:
        if "offered" in task.metadata and not searched:
            searched.update(range(len(task.metadata["steps"])))
            return Message("assistant", "", (choice_reference(task)[0],))
        found = {number for number, one in enumerate(facts.get("found", ())) if one}
        calls = next_calls(task, facts, searched=searched, found=found, called=called, width=width, waits=waits)
        searched.update(number for number, call in calls if call.name == "find_tools")
        called.update(number for number, call in calls if call.name == "call_tool")
        if calls:
            return Message("assistant", "", tuple(call for _, call in calls))
        return Message("assistant", last_results(task, facts))

    return speak


def next_calls(
    task: Task,
    facts: Facts,
    *,
    searched: Collection[int],
    found: Collection[int],
    called: Collection[int],
    width: int | None,
    waits: bool,
) -> list[tuple[int, ToolCall]]:
    """The next turn of a schedule: (subtask, call) for the first `width` possible calls.

    Args:
        task: a compounding task.
        facts: state before the turn; "made" of each subtask.
        searched, called: subtasks whose search or call is not repeated.
        found: subtasks with a known tool.
        width, waits: as for `schedule_agent`.

    Example:
        chains of 2 subtasks, both found, neither made: a call of the first; without waiting, calls of both
    """
    steps = task.metadata["steps"]
    before = predecessors(task.metadata["chains"])
    made = _made(task, facts)
    calls: list[tuple[int, ToolCall]] = []
    for number, step in enumerate(steps):
        if width is not None and len(calls) == width:
            break
        earlier = before[number]
        missing = None if earlier is None or made[earlier] else steps[earlier]
        if number not in searched:
            calls.append((number, ToolCall("find_tools", {"query": step["query"]})))
        elif number in found and number not in called and not (missing and waits):
            calls.append((number, _call(step, missing)))
    return calls


def last_results(task: Task, facts: Facts) -> str:
    """Results of the last subtasks that were made, separated by commas; "none" without any."""
    made = _made(task, facts)
    steps, before = task.metadata["steps"], predecessors(task.metadata["chains"])
    last = [number for number in range(len(steps)) if number not in before]
    return ", ".join(str(steps[number]["value"]) for number in last if made[number]) or "none"


def predecessors(chains: Sequence[int]) -> list[int | None]:
    """Subtask before each subtask in the chain; None for the first of a chain.

    Example:
        [2, 1] -> [None, 0, None]
    """
    found: list[int | None] = []
    for length in chains:
        found += [None, *range(len(found), len(found) + length - 1)][:length]
    return found


def _made(task: Task, facts: Facts) -> Sequence[bool]:
    return facts.get("made", [False] * len(task.metadata["steps"]))


def _call(step: Mapping[str, Any], missing: Mapping[str, Any] | None) -> ToolCall:
    arguments = dict(step["arguments"])
    if missing is not None:
        value = str(missing["value"])
        arguments = {key: GUESS if str(one) == value else one for key, one in arguments.items()}
    return ToolCall("call_tool", {"name": step["name"], "arguments": arguments})
