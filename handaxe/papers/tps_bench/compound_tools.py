"""World `compound_tools`: compounding tasks for the tiny policy, with demonstrations of three schedules."""

from __future__ import annotations

import random
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.evaluation.benchmarks.tps_bench import tps_world
from handaxe.ops.seeds import derive_seed
from handaxe.papers.tps_bench.schedule_agent import last_results, next_calls
from handaxe.worlds.world import Expert, Facts, Start, World

__all__ = ["compound_tools"]

MOST_CHAINS = 4
START = Start(skill=900, steps=0, batch_size=16, learning_rate=2e-3)


def compound_tools(*, chains: int = 2, length: int = 2, serial: float = 0.4, reckless: float = 0.0) -> World:
    """Chains of brief tool calls in one task, where calls of one turn run at the same time.

    A request names the tools. A turn may have several calls, and its simulated time is that of its slowest call, 1 to 5
    seconds by the tool. A call whose argument is the result of another call must be in a later turn. The expert draws
    one of three schedules a task: one call a turn; every possible call at once; or every call in the first turn, with a
    guess for results that are not there yet. Training is to leave the second.

    Args:
        chains: independent chains of a task, 1 to 4.
        length: dependent subtasks of a chain, 1 or 2.
        serial: share of the tasks whose demonstration has one call a turn.
        reckless: share of the tasks whose demonstration ignores dependencies; it fails them, and its answer is
            incomplete.

    Returns:
        A world with the gauges of `toolbox` and of the benchmark `tps_bench`: progress (share of completed subtasks),
        elapsed (simulated seconds), call_turns, speedup and selected.

    Raises:
        InputError: an argument out of range, or a missing package (bfcl-eval; extras [search] and [mcp]).

    Example:
        "t417 25, t230 * 7; t811 3": one call a turn takes 3 turns; t417 beside t811, then t230 takes 2; all calls at
        once take 1, and t230 is called with 0 and fails

    Paper: arXiv:2511.01527 (TPS-Bench), compounding tasks.
    Differs: brief numbers for words, named tools, and simulated time.
    """
    if not 1 <= chains <= MOST_CHAINS or length not in (1, 2):
        raise InputError(f"chains is {chains} and length {length}; give 1 to {MOST_CHAINS} chains of 1 or 2 subtasks")
    if min(serial, reckless) < 0 or serial + reckless > 1:
        raise InputError(f"serial and reckless are shares, together at most 1, not {serial} and {reckless}")
    made = tps_world(chains, length, brief=True)
    return replace(
        made,
        name="compound_tools",
        tasks=lambda split, count, seed: [_with_names(task) for task in made.tasks(split, count, seed)],
        expert=_expert(serial, reckless),
        start=START,
        start_context=512,
        start_turns=chains * length + 1,
        reference=None,
        criteria=None,
        check=None,
    )


def _with_names(task: Task) -> Task:
    """The task with names of tools in the place of their keys."""
    text = task.messages[-1].content
    for step in task.metadata["steps"]:
        text = text.replace(step["query"], step["name"])
    return replace(task, messages=(Message("user", text),))


def _expert(serial: float, reckless: float) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        if "call_tool" not in facts["tools"]:
            return Message("assistant", "none")
        place = random.Random(derive_seed("schedule", task.id)).random()
        waits = not serial <= place < serial + reckless
        if waits or facts["turn"] == 0:
            everything = range(len(task.metadata["steps"]))
            called = {number for number, one in enumerate(facts.get("made", ())) if one}
            width = 1 if place < serial else None
            calls = next_calls(
                task, facts, searched=everything, found=everything, called=called, width=width, waits=waits
            )
            if calls:
                return Message("assistant", "", tuple(call for _, call in calls))
        return Message("assistant", last_results(task, facts))

    return expert
