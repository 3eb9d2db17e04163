"""Table of TPS-Bench: figures of a policy beside those of two schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handaxe.evaluation.benchmarks.benchmark import BenchmarkTable, PartResult
from handaxe.evaluation.benchmarks.figures_of_parts import counts, figures_of, unscored_notes
from handaxe.evaluation.benchmarks.scheduling import CallSchedule, parallel_plan, sequential_plan

__all__ = ["tps_table"]

FIGURES = ("progress", "selected", "call_turns", "elapsed", "speedup", "tokens")
NAMES = ("done", "select", "turns", "time", "speedup", "tokens")
NOTES = (
    "Tasks of this library in the form of TPS-Bench: chains of calls in the world toolbox, since the paper's tasks and "
    "servers are in no package. Completion and selection follow rules, without a judge model.",
    "done: share of correct subtasks. select: F1 of called and needed tools; where tools are chosen from a list, of "
    "chosen and needed tools. turns: with calls. time: simulated seconds; calls of one turn run at the same time. "
    "speedup: time of the same calls one after another, over time.",
    "A policy that stops early has a short time. The rows sequential and parallel are correct schedules of the scored "
    "tasks: one call a turn; all searches, or the choice, in the first turn, and each call as early as its arguments "
    "allow.",
)


def tps_table(results: Mapping[str, PartResult]) -> BenchmarkTable:
    """Make the table: for each part a row of the policy, and rows of a sequential and a parallel plan of the scored
    tasks."""
    rows: list[tuple[str | float | None, ...]] = []
    for name, part in results.items():
        rows.append((name, *counts(part.tasks), *figures_of(part.tasks, FIGURES)))
        scored = [task.metadata for task in part.tasks if task.scored]
        plans = {
            "sequential": [sequential_plan(one["steps"], choice="offered" in one) for one in scored],
            "parallel": [parallel_plan(one["steps"], one["chains"], choice="offered" in one) for one in scored],
        }
        rows += [(f"  {kind}", None, None, *_of_plans(made)) for kind, made in plans.items()]
    return BenchmarkTable(("tasks of", "scored", "tasks", *NAMES), tuple(rows), (*NOTES, *unscored_notes(results)))


def _of_plans(plans: Sequence[CallSchedule]) -> list[float | None]:
    """FIGURES of schedules; a plan has no tokens."""
    if not plans:
        return [None] * len(FIGURES)
    turns = sum(one.turns for one in plans) / len(plans)
    elapsed = sum(one.elapsed for one in plans)
    return [1.0, 1.0, turns, elapsed / len(plans), sum(one.sequential for one in plans) / elapsed, None]
