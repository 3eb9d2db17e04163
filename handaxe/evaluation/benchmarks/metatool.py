"""MetaTool: need and selection of a tool, over questions of the function-calling leaderboard.

    precision = TP / (TP + FP)    recall = TP / (TP + FN)    F1 = 2 TP / (2 TP + FP + FN)

A positive is a question for one of the offered functions; a call of the policy is the answer yes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from handaxe.core.metrics import RatioMetric, TaskResult
from handaxe.core.records import Trajectory
from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkPart, BenchmarkTable, PartResult
from handaxe.evaluation.benchmarks.figures_of_parts import accuracy, counts, finite, unscored_notes
from handaxe.rewards.outcome import outcome
from handaxe.worlds.bfcl.world import bfcl as bfcl_world
from handaxe.worlds.world import World

__all__ = ["awareness", "metatool", "metatool_table", "selection_world"]

CALLED = "called"
NEEDED = ("similar", "multi-tool")
NOTES = (
    "Tasks of this library in the form of MetaTool: the questions are those of BFCL, since the paper's data set is in "
    "no package. Not here: the choice in scenarios of user groups.",
    "csr: the called functions equal those of the answer, or none in reliability; arguments do not count. A malformed "
    "call is no call, as in BFCL; a cut turn is not correct.",
)


def metatool() -> Benchmark:
    """Selection of tools: whether to call a tool, and which of the offered ones.

    Settings: held-out questions of the world `bfcl`, one turn of 512 tokens at temperature 0. "similar" is the choice
    among several functions (multiple, live_multiple), "reliability" has questions that no offered function can answer
    (irrelevance, live_irrelevance), "multi-tool" needs calls of several functions (parallel_multiple,
    live_parallel_multiple). Arguments of calls do not count.

    Returns:
        The benchmark; its table has the correct selection rate of each task, and accuracy, precision, recall and F1 of
        the decision to call.

    Example:
        needed functions {A}, none and {B}, called {A}, {C} and {B}: csr 1, 0 and 1

    Paper: arXiv:2310.03128 (MetaTool).
    Differs: the questions, and the decision to call is read from the calls instead of a question with yes or no, which
        in the paper comes without tools (520 positive and 520 negative questions). The paper's lists have ten tools:
        the nearest ones in "similar", none of the 20 nearest in "reliability" (995 questions), two correct ones in
        "multi-tool" (497 questions).
    """
    parts = (
        BenchmarkPart("similar", partial(selection_world, ("multiple", "live_multiple"))),
        BenchmarkPart("reliability", partial(selection_world, ("irrelevance", "live_irrelevance"))),
        BenchmarkPart("multi-tool", partial(selection_world, ("parallel_multiple", "live_parallel_multiple"))),
    )
    return Benchmark(name="metatool", parts=parts, table=metatool_table, max_turns=1, max_tokens=512, room=64)


def selection_world(category: tuple[str, ...]) -> World:
    """Create the world `bfcl` with the rule that the set of called functions equals the set of the answer.

    Args:
        category: categories of single questions.

    Raises:
        InputError: bfcl-eval is missing.
    """
    called = RatioMetric(lambda one, _: float(_calls(one)))
    return replace(bfcl_world(category=category), correct=outcome(_selected), gauges={CALLED: called})


def _selected(one: Trajectory) -> float:
    needed = {call["name"] for call in one.task.metadata["gold"]}
    return float(not _cut(one) and {call.name for call in one.calls} == needed)


def _calls(one: Trajectory) -> bool:
    """Whether the policy called a tool; a malformed or cut call is none, as behind a chat server."""
    return not _cut(one) and bool(one.calls)


def _cut(one: Trajectory) -> bool:
    return any(turn.finish == "length" for turn in one.turns)


def awareness(results: Mapping[str, PartResult]) -> tuple[float | None, float | None, float | None, float | None]:
    """Accuracy, precision, recall and F1 of the decision to call a tool, over scored tasks; None where undefined.

    Example:
        TP = 3, FP = 1, FN = 2, TN = 4 -> 0.7, 0.75, 0.6, 2 * 3 / (2 * 3 + 1 + 2) = 0.667
    """
    needed = [_called(task) for name in NEEDED for task in _scored(results[name].tasks)]
    useless = [_called(task) for task in _scored(results["reliability"].tasks)]
    hits = sum(needed)
    misses = len(needed) - hits
    false_calls = sum(useless)
    right = hits + len(useless) - false_calls
    return (
        _share(right, len(needed) + len(useless)),
        _share(hits, hits + false_calls),
        _share(hits, hits + misses),
        _share(2 * hits, 2 * hits + false_calls + misses),
    )


def metatool_table(results: Mapping[str, PartResult]) -> BenchmarkTable:
    """Make the table: a row per task with the correct selection rate, then the figures of the decision to call."""
    rows: list[tuple[str | float | None, ...]] = []
    for name, part in results.items():
        found = accuracy(part.tasks)
        ends = (finite(found.low), finite(found.high))
        rows.append((f"csr, {name}", finite(found.value), *ends, *counts(part.tasks)))
    whole = counts([task for part in results.values() for task in part.tasks])
    for name, value in zip(("accuracy", "precision", "recall", "F1"), awareness(results), strict=True):
        rows.append((f"call needed, {name}", value, None, None, *whole))
    names = ("figure", "value", "low", "high", "scored", "tasks")
    return BenchmarkTable(names, tuple(rows), (*NOTES, *unscored_notes(results)))


def _scored(tasks: Sequence[TaskResult]) -> list[TaskResult]:
    return [task for task in tasks if task.scored]


def _called(task: TaskResult) -> float:
    """Share of the scored rollouts of a task with a call."""
    return task.gauges[CALLED][0] / task.gauges[CALLED][1]


def _share(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None
