"""tau2-bench: pass^k by domain.

pass^k = mean over tasks of C(c, k) / C(n, k), with c of n trials of a task solved
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from handaxe.core.metrics import TaskResult
from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkPart, BenchmarkTable, PartResult
from handaxe.evaluation.benchmarks.figures_of_parts import counts, finite, mean_of, unscored_notes
from handaxe.evaluation.estimates import columns
from handaxe.ops.stats import ratio
from handaxe.worlds.tau2.world import tau2 as tau2_world

__all__ = ["tau2", "tau2_table"]

NOTES = (
    "The customer is a rule of this library and no language model, so the figures are not comparable with those of "
    "the paper. reward and calls are means per rollout.",
)


def tau2() -> Benchmark:
    """Customer service in retail, airline and telecom: tasks solved in each of k trials.

    Settings: held-out tasks of the world `tau2` with the policy of the shop in the system message; customers of retail
    and airline make one request after another, the customer of telecom has a phone. Four trials a task at temperature
    1, at most 32 turns of 512 tokens.

    Returns:
        The benchmark; its table has a row per domain and the mean of the domains.

    Example:
        two tasks with 4 and 2 of 4 trials solved: pass^1 0.75, pass^2 (1 + 1/6) / 2 = 0.583, pass^4 0.5

    Paper: arXiv:2506.07982 (tau2-bench); pass^k is of arXiv:2406.12045 (tau-bench).
    Differs: the customer is a rule; only held-out tasks; temperature 1 instead of 0, since trials with a customer
    without chance would be equal.
    """
    parts = (
        BenchmarkPart("retail", partial(tau2_world, domain="retail", user="requests")),
        BenchmarkPart("airline", partial(tau2_world, domain="airline", user="requests")),
        BenchmarkPart("telecom", partial(tau2_world, domain="telecom")),
    )
    return Benchmark(
        name="tau2", parts=parts, table=tau2_table, trials=4, max_turns=32, max_tokens=512, room=64, temperature=1.0
    )


def tau2_table(results: Mapping[str, PartResult]) -> BenchmarkTable:
    """Make the table: domain, scored and played tasks, pass^1 to pass^n, average reward and calls.

    A task counts towards pass^k with at least k scored trials.
    """
    trials = max((task.attempts for part in results.values() for task in part.tasks), default=1)
    figures = {name: _figures(part.tasks, trials) for name, part in results.items()}
    rows: list[tuple[str | float | None, ...]] = [
        (name, *counts(results[name].tasks), *found) for name, found in figures.items()
    ]
    means = [mean_of(column) for column in zip(*figures.values(), strict=True)]
    rows.append(("mean", *counts([task for part in results.values() for task in part.tasks]), *means))
    names = ("domain", "scored", "tasks", *(f"pass^{k}" for k in range(1, trials + 1)), "reward", "calls")
    return BenchmarkTable(names, tuple(rows), (*NOTES, *unscored_notes(results)))


def _figures(tasks: tuple[TaskResult, ...], trials: int) -> list[float | None]:
    """pass^1 to pass^n, reward and calls; pass^1 equals pass@1."""
    found = columns(tasks, ks=range(1, trials + 1))
    names = ["pass@1", *(f"pass^{k}" for k in range(2, trials + 1)), "reward", "calls"]
    chosen = [found[name] for name in names]
    return [
        finite(ratio(one.top_T[one.usable_T], one.bottom_T[one.usable_T])) if one.usable_T.any() else None
        for one in chosen
    ]
