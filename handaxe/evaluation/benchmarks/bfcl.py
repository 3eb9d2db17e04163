"""Berkeley function-calling leaderboard: accuracy by category, in the leaderboard's groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkPart, BenchmarkTable, PartResult
from handaxe.evaluation.benchmarks.figures_of_parts import (
    accuracy,
    counts,
    finite,
    mean_of,
    unscored_notes,
    weighted_mean_of,
)
from handaxe.evaluation.estimates import Estimate
from handaxe.worlds.bfcl.package import MULTI_TURN, SINGLE_TURN
from handaxe.worlds.bfcl.world import bfcl as bfcl_world

__all__ = ["NOT_HERE", "bfcl", "bfcl_table"]

NOT_HERE = (
    "web_search_base",
    "web_search_no_snippet",
    "memory_kv",
    "memory_vector",
    "memory_rec_sum",
    "format_sensitivity",
)
"""Categories of the leaderboard without a world."""
SIMPLE = ("simple_python", "simple_java", "simple_javascript")
LIVE = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
Figures = Mapping[str, float | None]


def bfcl() -> Benchmark:
    """Function calls: choice of functions and values, and no call without a fitting function.

    Settings: held-out questions of every category of the world `bfcl`, one trial at temperature 0; single questions
    have one turn, conversations at most 20 turns a turn of the user; turns of 512 tokens.

    Returns:
        The benchmark; its table has a row per category below the row of the group.

    Example:
        simple_python 0.6, simple_java 0.3, simple_javascript 0.3, multiple 0.5, parallel 0.2, parallel_multiple 0.1:
        simple is 0.4 and the group Non-Live (0.4 + 0.5 + 0.2 + 0.1) / 4 = 0.3

    Paper: Patil and others, "The Berkeley Function Calling Leaderboard", ICML 2025; groups and weights are those of the
    package bfcl-eval, version 4.
    Differs: only held-out questions. Without the agentic categories there is no overall accuracy.
    """
    parts = tuple(BenchmarkPart(name, partial(bfcl_world, category=(name,))) for name in (*SINGLE_TURN, *MULTI_TURN))
    return Benchmark(name="bfcl", parts=parts, table=bfcl_table, max_turns=160, max_tokens=512, room=64)


def bfcl_table(results: Mapping[str, PartResult]) -> BenchmarkTable:
    """Make the table: groups and categories with accuracy, interval over tasks, and numbers of scored and played tasks.

    A group is undefined if one of its categories is. Means of groups have no interval.
    """
    found = {name: accuracy(part.tasks) for name, part in results.items()}
    values = {name: finite(one.value) for name, one in found.items()}
    rows: list[tuple[str | float | None, ...]] = []
    for group, mean, members in _groups(values, {name: float(part.size) for name, part in results.items()}):
        rows.append((group, mean, None, None, *counts([task for name in members for task in results[name].tasks])))
        for name in members:
            rows.append((f"  {name}", values[name], *_ends(found[name]), *counts(results[name].tasks)))
    notes = (
        f"Not here: {', '.join(NOT_HERE)}; so there is no overall accuracy.",
        "Groups as on the leaderboard: Live is weighted by questions, other means have equal weights.",
        *unscored_notes(results),
    )
    return BenchmarkTable(("category", "accuracy", "low", "high", "scored", "tasks"), tuple(rows), notes)


def _groups(values: Figures, sizes: Mapping[str, float]) -> list[tuple[str, float | None, Sequence[str]]]:
    """Name, mean and categories of every group."""
    simple = mean_of([values[name] for name in SIMPLE])
    single = ("multiple", "parallel", "parallel_multiple")
    non_live = mean_of([simple, *(values[name] for name in single)])
    live = weighted_mean_of([values[name] for name in LIVE], [sizes[name] for name in LIVE])
    refusals = ("irrelevance", "live_irrelevance")
    return [
        ("Non-Live", non_live, (*SIMPLE, *single)),
        ("Live", live, LIVE),
        ("Multi Turn", mean_of([values[name] for name in MULTI_TURN]), MULTI_TURN),
        ("Irrelevance", mean_of([values[name] for name in refusals]), refusals),
        ("Relevance", values["live_relevance"], ("live_relevance",)),
    ]


def _ends(one: Estimate) -> tuple[float | None, float | None]:
    return finite(one.low), finite(one.high)
