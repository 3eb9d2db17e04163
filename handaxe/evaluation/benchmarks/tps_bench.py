"""TPS-Bench: plan and schedule tools for tasks of several subtasks.

    completed = subtasks with a correct call / subtasks
    selected  = 2 |called and needed| / (|called| + |needed|)
    time      = sum over turns of max over calls of seconds

A subtask is a needed call. Calls of one turn run at the same time, and a call with the result of another call as an
argument must be in a later turn.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Trajectory
from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkPart
from handaxe.evaluation.benchmarks.compound_tasks import compound_tasks
from handaxe.evaluation.benchmarks.scheduling import call_seconds, called_tool, elapsed_seconds, sequential_seconds
from handaxe.evaluation.benchmarks.tool_choice import LIMIT, choice_env, choice_expert, choice_reference, choice_tasks
from handaxe.evaluation.benchmarks.tps_table import tps_table
from handaxe.worlds.toolbox.brief_catalogue_tasks import brief_catalogue
from handaxe.worlds.toolbox.catalogue import full_catalogue
from handaxe.worlds.toolbox.world import toolbox
from handaxe.worlds.world import World

__all__ = ["selection_score", "tps_bench", "tps_choice", "tps_world"]

TASKS = 25
RESULTS = 3
"""Default number of tools in a search result, in prose."""


def tps_bench() -> Benchmark:
    """Plan and schedule the calls of tasks with 3 to 12 subtasks.

    Settings: 25 held-out tasks each. Prose with three results a search: easy has 4 independent subtasks, hard 4 chains
    of 3 dependent subtasks. Choice: at most ten tools are chosen from a list of 141 before the first call; easy has 4
    independent subtasks, hard 3 chains of 3. Brief with one result: easy has 3 independent subtasks, hard 2 chains of
    2. One trial at temperature 0, at most 32 turns of 1,024 tokens.

    Returns:
        The benchmark; its table has a row per form and difficulty, and the figures of a sequential and a parallel
        schedule of the same tasks.

    Example:
        subtasks a, b and c with seconds 3, 2 and 1, where c needs the results of a and b: one call a turn takes 6
        seconds in 3 turns, {a, b} then {c} 4 seconds in 2 turns; {a, b, c} 3 seconds, with 2 of 3 subtasks done

    Paper: arXiv:2511.01527 (TPS-Bench).
    Differs: the tasks and tools; rules instead of a judge model; simulated time, 1 to 5 seconds a call; parts with a
    search instead of the choice.
    """
    searched = {"prose, easy": (4, 1), "prose, hard": (4, 3), "brief, easy": (3, 1), "brief, hard": (2, 2)}
    chosen = {"choice, easy": (4, 1), "choice, hard": (3, 3)}
    parts = [
        BenchmarkPart(name, partial(tps_world, chains, length, brief=name.startswith("brief")), TASKS)
        for name, (chains, length) in searched.items()
    ]
    parts += [BenchmarkPart(name, partial(tps_choice, *shape), TASKS) for name, shape in chosen.items()]
    return Benchmark(name="tps_bench", parts=tuple(parts), table=tps_table, max_turns=32, max_tokens=1024, room=64)


def tps_world(chains: int, length: int, *, brief: bool) -> World:
    """Create the world `toolbox` with tasks of several chains, and with figures of selection and time.

    Args:
        chains: of a task.
        length: subtasks of a chain.
        brief: the brief form, else prose.

    Returns:
        A world with the further gauges selected, call_turns, elapsed and speedup.

    Raises:
        InputError: a package is missing.
    """
    world = toolbox(lengths=(length,), brief=brief, results=None if brief else RESULTS)
    catalogue = brief_catalogue() if brief else full_catalogue()
    functions = {name: entry.function for name, entry in catalogue.entries.items()}

    def seconds(one: Trajectory) -> list[list[float]]:
        return [[call_seconds(call, functions) for call in turn.parsed.calls] for turn in one.turns]

    def selected(one: Trajectory, outcome: float) -> float:
        del outcome
        names = {called_tool(call) for call in one.calls if call.name == "call_tool"}
        called = {functions.get(name, name) for name in names}
        return selection_score(called, {step["function"] for step in one.task.metadata["steps"]})

    gauges = {
        "selected": RatioMetric(selected),
        "call_turns": RatioMetric(lambda one, _: float(sum(bool(turn.parsed.calls) for turn in one.turns))),
        "elapsed": RatioMetric(lambda one, _: elapsed_seconds(seconds(one))),
        "speedup": RatioMetric(
            lambda one, _: sequential_seconds(seconds(one)), lambda one, _: elapsed_seconds(seconds(one))
        ),
    }
    return replace(
        world,
        tasks=compound_tasks(world, chains=chains, brief=brief),
        start=None,
        start_turns=2 * chains * length + 1,
        gauges={**world.gauges, **gauges},
    )


def tps_choice(chains: int, length: int) -> World:
    """Create the world of `tps_world` in prose, where the tools are chosen from a list before the first call.

    Args:
        chains, length: as for `tps_world`.

    Returns:
        A world with the gauges of `tps_world`; selected is the F1 of the chosen tools.

    Raises:
        InputError: a task needs more tools than can be chosen, or a package is missing.
    """
    if chains * length > LIMIT:
        raise InputError(f"{chains} chains of {length} need {chains * length} tools; at most {LIMIT} can be chosen")
    world = tps_world(chains, length, brief=False)
    catalogue = full_catalogue()

    def selected(one: Trajectory, outcome: float) -> float:
        del outcome
        chosen = {catalogue.entries[name].function for name in one.env["box"]["chosen"]}
        return selection_score(chosen, {step["function"] for step in one.task.metadata["steps"]})

    return replace(
        world,
        name="tool_choice",
        tasks=choice_tasks(toolbox(lengths=(length,), brief=False), catalogue, chains=chains),
        env=partial(choice_env, catalogue),
        expert=choice_expert,
        reference=choice_reference,
        start_turns=chains * length + 2,
        criteria=None,
        check=None,
        gauges={**world.gauges, "selected": RatioMetric(selected)},
    )


def selection_score(called: set[str], needed: set[str]) -> float:
    """F1 of the called or chosen tools.

        2 |called and needed| / (|called| + |needed|)

    Args:
        called: distinct tools that the policy called, with any arguments, or chose.
        needed: distinct tools of the task, one or more.

    Example:
        called {a, b, x} of needed {a, b, c, d} -> 2 * 2 / (3 + 4) = 0.571

    Paper: arXiv:2511.01527 (TPS-Bench), tool selection.
    Differs: a rule instead of a judge model.
    """
    return 2 * len(called & needed) / (len(called) + len(needed))
