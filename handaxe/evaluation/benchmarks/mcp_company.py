"""TheMCPCompany: find tools among thousands, and call them.

    score = 0.5 * points / all points + 0.5 * [all points]

A task has a point for every needed tool that a search found, for every correct call, and for the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Trajectory
from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkPart, BenchmarkTable, PartResult
from handaxe.evaluation.benchmarks.company_server import BRIEF_RESULTS, PROSE_RESULTS
from handaxe.evaluation.benchmarks.figures_of_parts import counts, figures_of, mean_of, unscored_notes
from handaxe.evaluation.benchmarks.served_env import served_env, served_tools
from handaxe.worlds.toolbox.box import BriefBox, ToolBox
from handaxe.worlds.toolbox.world import toolbox
from handaxe.worlds.world import World

__all__ = ["checkpoint_score", "company_table", "company_world", "mcp_company"]

TASKS = 50
SCORE = "checkpoint_score"
FIGURES = (SCORE, "pass@1", "found", "progress", "calls")
NAMES = ("score", "solved", "found", "called", "calls")
NOTES = (
    "Tasks of this library in the form of TheMCPCompany: chains of calls in the world toolbox, since the paper's "
    "services and tasks are in no package.",
    "score: half the share of checkpoints, half all checkpoints. found, called: shares of needed tools and calls.",
)
IN_PROCESS = "The tools find_tools and call_tool run in this process, without an MCP server."
SERVED = "The tools find_tools and call_tool run in an MCP server over stdio, a process for each rollout."
SERVER = "handaxe.evaluation.benchmarks.company_server:"


def mcp_company(*, served: bool = False) -> Benchmark:
    """Find tools among 3,205 schemas by search, and call them in chains.

    Settings: chains of the world `toolbox`, 50 held-out ones of 1, 2 and 3 calls each in prose with five results a
    search, and of 1 and 2 calls each in the brief form with one result; one trial at temperature 0, at most 12 turns of
    256 tokens.

    Args:
        served: run both tools in an MCP server, as the paper does: `handaxe serve` over stdio, a process for each
            rollout. The name of the benchmark is then `mcp_company_served`. A server that dies, or that does not
            answer, is an infra_error of its rollout, without a score.

    Returns:
        The benchmark; its table has a row per form and length. Replies of tools are the same with and without a server,
        except for arguments that cannot be sent, with half a character or more than 64 levels: status "retry".

    Example:
        2 of 4 checkpoints: score 0.5 * 0.5 = 0.25; 4 of 4: 1.0

    Paper: arXiv:2510.19286 (TheMCPCompany).
    Differs: the tasks and tools; no comparison with oracle tools or a browser; without `served`, no MCP server.
    Unconfirmed: the formula of the score is TheAgentCompany's, from memory.
    """
    forms = [(length, False) for length in (1, 2, 3)] + [(length, True) for length in (1, 2)]
    parts = [
        BenchmarkPart(
            f"{'brief' if brief else 'prose'}, {length}",
            partial(company_world, length, brief=brief, served=served),
            TASKS,
        )
        for length, brief in forms
    ]
    return Benchmark(
        name="mcp_company_served" if served else "mcp_company",
        parts=tuple(parts),
        table=partial(company_table, served=served),
        max_turns=12,
        max_tokens=256,
        room=64,
    )


def company_world(length: int, *, brief: bool, served: bool = False) -> World:
    """Create the world `toolbox` with chains of one length, and with the score as a gauge.

    Args:
        length: calls of a chain.
        brief: the brief form, else prose.
        served: the tools are those of an MCP server.

    Raises:
        InputError: a package is missing.
    """
    world = toolbox(lengths=(length,), brief=brief, results=BRIEF_RESULTS if brief else PROSE_RESULTS)

    def score(one: Trajectory, outcome: float) -> float:
        del outcome
        criteria = world.need("criteria")(one.task)
        met_CN = world.need("check")(one, criteria)
        return checkpoint_score(int(met_CN.any(axis=1).sum()), len(criteria))

    scored = replace(world, gauges={**world.gauges, SCORE: RatioMetric(score)})
    if not served:
        return scored
    server, local = ("BriefServer", BriefBox) if brief else ("ProseServer", ToolBox)
    return replace(scored, env=served_env(served_tools(SERVER + server), local))


def checkpoint_score(points: int, total: int) -> float:
    """Score a task by its checkpoints.

        0.5 * points / total + 0.5 * [points == total]

    Args:
        points: checkpoints that were reached, 0 to `total`.
        total: checkpoints of the task, >= 1.

    Example:
        2 of 4 -> 0.25    4 of 4 -> 1.0

    Paper: arXiv:2510.19286 (TheMCPCompany), as stated by a public page on the benchmark.
    """
    return 0.5 * points / total + 0.5 * float(points == total)


def company_table(results: Mapping[str, PartResult], *, served: bool = False) -> BenchmarkTable:
    """Make the table: a row per form and length, and means with equal weights over the rows of prose and of brief.

    Args:
        results: by name of part.
        served: the tools ran in MCP servers; a note says so.
    """
    rows: list[tuple[str | float | None, ...]] = []
    for form in ("prose", "brief"):
        named = {name: part for name, part in results.items() if name.startswith(form)}
        if not named:
            continue
        figures = {name: figures_of(part.tasks, FIGURES) for name, part in named.items()}
        rows += [(f"{name} calls", *counts(named[name].tasks), *found) for name, found in figures.items()]
        played = counts([task for part in named.values() for task in part.tasks])
        rows.append((f"mean of {form}", *played, *map(mean_of, zip(*figures.values(), strict=True))))
    notes = (*NOTES, SERVED if served else IN_PROCESS, *unscored_notes(results))
    return BenchmarkTable(("tasks of", "scored", "tasks", *NAMES), tuple(rows), notes)
