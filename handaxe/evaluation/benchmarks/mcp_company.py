"""TheMCPCompany: find tools among thousands, and call them.

    score = 0.5 * points / all points + 0.5 * [all points]

A task has a point for every needed tool that a search found, for every correct call, and for the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from handaxe.core.metrics import RatioMetric, TaskResult
from handaxe.core.records import Trajectory
from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkPart, BenchmarkTable, PartResult
from handaxe.evaluation.benchmarks.figures_of_parts import counts, finite, mean_of, unscored_notes
from handaxe.evaluation.estimates import columns
from handaxe.ops.stats import ratio
from handaxe.worlds.toolbox.world import toolbox
from handaxe.worlds.world import World

__all__ = ["checkpoint_score", "company_table", "company_world", "mcp_company"]

TASKS = 50
SCORE = "checkpoint_score"
FIGURES = (SCORE, "pass@1", "found", "progress", "calls")
NAMES = ("score", "solved", "found", "called", "calls")
NOTES = (
    "Tasks of this library in the form of TheMCPCompany: chains of calls in the world toolbox, since the paper's "
    "services and tasks are in no package. The tools find_tools and call_tool run in this process, without an MCP "
    "server.",
    "score: half the share of checkpoints, half all checkpoints. found, called: shares of needed tools and calls.",
)


def mcp_company() -> Benchmark:
    """Find tools among 3,205 schemas by search, and call them in chains.

    Settings: chains of the world `toolbox`, 50 held-out ones of 1, 2 and 3 calls each in prose with five results a
    search, and of 1 and 2 calls each in the brief form with one result; one trial at temperature 0, at most 12 turns of
    256 tokens.

    Returns:
        The benchmark; its table has a row per form and length.

    Example:
        2 of 4 checkpoints: score 0.5 * 0.5 = 0.25; 4 of 4: 1.0

    Paper: arXiv:2510.19286 (TheMCPCompany).
    Differs: the tasks and tools; no comparison with oracle tools or a browser; no MCP server.
    Unconfirmed: the formula of the score is TheAgentCompany's, from memory.
    """
    parts = [
        BenchmarkPart(f"prose, {length}", partial(company_world, length, brief=False), TASKS) for length in (1, 2, 3)
    ]
    parts += [BenchmarkPart(f"brief, {length}", partial(company_world, length, brief=True), TASKS) for length in (1, 2)]
    return Benchmark(name="mcp_company", parts=tuple(parts), table=company_table, max_turns=12, max_tokens=256, room=64)


def company_world(length: int, *, brief: bool) -> World:
    """Create the world `toolbox` with chains of one length, and with the score as a gauge.

    Raises:
        InputError: a package is missing.
    """
    world = toolbox(lengths=(length,), brief=brief)

    def score(one: Trajectory, outcome: float) -> float:
        del outcome
        criteria = world.need("criteria")(one.task)
        met_CN = world.need("check")(one, criteria)
        return checkpoint_score(int(met_CN.any(axis=1).sum()), len(criteria))

    return replace(world, gauges={**world.gauges, SCORE: RatioMetric(score)})


def checkpoint_score(points: int, total: int) -> float:
    """Score a task by its checkpoints.

        0.5 * points / total + 0.5 * [points == total]

    Args:
        points: checkpoints that were reached, 0 to `total`.
        total: checkpoints of the task, >= 1.

    Example:
        2 of 4 -> 0.25    4 of 4 -> 1.0

    Paper: arXiv:2510.19286 (TheMCPCompany).
    Unconfirmed: the formula, from memory of TheAgentCompany.
    """
    return 0.5 * points / total + 0.5 * float(points == total)


def company_table(results: Mapping[str, PartResult]) -> BenchmarkTable:
    """Make the table: a row per form and length, and means with equal weights over the rows of prose and of brief."""
    rows: list[tuple[str | float | None, ...]] = []
    for form in ("prose", "brief"):
        named = {name: part for name, part in results.items() if name.startswith(form)}
        if not named:
            continue
        figures = {name: _figures(part.tasks) for name, part in named.items()}
        rows += [(f"{name} calls", *counts(named[name].tasks), *found) for name, found in figures.items()]
        played = counts([task for part in named.values() for task in part.tasks])
        rows.append((f"mean of {form}", *played, *map(mean_of, zip(*figures.values(), strict=True))))
    return BenchmarkTable(("tasks of", "scored", "tasks", *NAMES), tuple(rows), (*NOTES, *unscored_notes(results)))


def _figures(tasks: tuple[TaskResult, ...]) -> list[float | None]:
    """FIGURES of a part; None without a scored task."""
    if not any(task.scored for task in tasks):
        return [None] * len(FIGURES)
    found = columns(tasks, ks=(1,))
    chosen = [found[name] for name in FIGURES]
    return [finite(ratio(one.top_T[one.usable_T], one.bottom_T[one.usable_T])) for one in chosen]
