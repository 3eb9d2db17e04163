"""Metrics of a set of rollouts, each as a ratio of two columns over tasks.

One definition serves every use: the value is sum(top) / sum(bottom), its interval a bootstrap over tasks, and a
comparison a paired bootstrap of two such ratios. Tasks have equal weight, at any number of counted rollouts.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import nan
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from handaxe.core.endings import NEVER_SCORED
from handaxe.core.errors import InputError
from handaxe.core.metrics import Measure, RatioMetric, Statistic, TaskResult
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.ops.seeds import generator
from handaxe.ops.stats import Interval, pass_at_k, pass_hat_k, ratio, ratio_interval, wilson_interval

__all__ = [
    "Column",
    "Estimate",
    "NO_GAUGES",
    "NO_STATISTICS",
    "columns",
    "ending_shares",
    "estimate",
    "estimates",
    "task_result",
]

NO_GAUGES: Mapping[str, RatioMetric] = MappingProxyType({})
NO_STATISTICS: Mapping[str, Statistic] = MappingProxyType({})
OF_RUNS = ("evaluation", "steps")
"""Names that a run adds to the figures of an evaluation."""


class Estimate(NamedTuple):
    """A value, an interval, and the number of tasks."""

    value: float
    low: float
    high: float
    tasks: int


class Column(NamedTuple):
    """Numerator and denominator for each task, and the mask of usable tasks: [T] each."""

    top_T: np.ndarray
    bottom_T: np.ndarray
    usable_T: np.ndarray


def task_result(
    group: Group, scores: Scores, *, correct_above: float = 0.5, gauges: Mapping[str, RatioMetric] = NO_GAUGES
) -> TaskResult:
    """Summarize a group.

    Args:
        group: the rollouts. Outcomes of rollouts that ended as infra_error or verifier_error are ignored.
        scores: one outcome for each rollout.
        correct_above: a rollout is correct if its outcome is strictly above this.
        gauges: further ratios to measure.

    Raises:
        InputError: the numbers of outcomes and rollouts differ.
    """
    if len(scores.outcome) != len(group):
        raise InputError(f"task {group.task.id!r}: {len(scores.outcome)} outcomes for {len(group)} rollouts")
    counted = [i for i, one in enumerate(group) if one.ending.kind not in NEVER_SCORED]
    outcomes = [float(scores.outcome[i]) for i in counted]

    def mean(measure: Callable[[Trajectory], float]) -> float:
        return float(np.mean([measure(group[i]) for i in counted])) if counted else 0.0

    def summed(measure: Measure) -> float:
        return float(np.mean([measure(group[i], outcomes[k]) for k, i in enumerate(counted)])) if counted else 0.0

    return TaskResult(
        id=group.task.id,
        attempts=len(group),
        scored=len(counted),
        correct=sum(value > correct_above for value in outcomes),
        reward=float(np.mean(outcomes)) if counted else 0.0,
        calls=mean(lambda one: one.usage.calls),
        tokens=mean(lambda one: one.usage.tokens),
        seconds=mean(lambda one: one.usage.seconds),
        cost=mean(lambda one: one.usage.cost),
        endings=dict(Counter(_ending_name(one) for one in group)),
        metadata=dict(group.task.metadata),
        gauges={name: (summed(gauge.top), summed(gauge.bottom)) for name, gauge in gauges.items()},
    )


def columns(tasks: Sequence[TaskResult], *, ks: Sequence[int]) -> dict[str, Column]:
    """The columns of every metric.

        pass@k             probability that one of k rollouts is correct;  pass^k  that all k are (k > 1)
        reward, calls, tokens, seconds, cost     means per rollout
        calls_per_correct  calls / correct rollouts;  tool_productivity  correct rollouts / calls (OTC's TP)

    and the gauges of the tasks. A task counts towards a metric with k only with at least k scored rollouts.
    """
    out: dict[str, Column] = {}
    for k in ks:
        usable = np.array([one.scored >= k for one in tasks], dtype=bool)
        for name, chance in (("pass@", pass_at_k), ("pass^", pass_hat_k)):
            if name == "pass@" or k > 1:
                top = [chance(one.scored, one.correct, k) if one.scored >= k else 0.0 for one in tasks]
                out[f"{name}{k}"] = Column(np.array(top), usable.astype(float), usable)
    usable = np.array([one.scored >= 1 for one in tasks], dtype=bool)
    rows = [(one.reward, one.calls, one.tokens, one.seconds, one.cost) for one in tasks]
    by_name = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    means = dict(zip(("reward", "calls", "tokens", "seconds", "cost"), by_name))
    correct = np.array([one.correct / one.scored if one.scored else 0.0 for one in tasks])
    out |= {name: Column(values, usable.astype(float), usable) for name, values in means.items()}
    out["calls_per_correct"] = Column(means["calls"], correct, usable)
    out["tool_productivity"] = Column(correct, means["calls"], usable)
    for name in dict.fromkeys(name for one in tasks for name in one.gauges):
        if name in out or name in OF_RUNS:
            raise InputError(f"a gauge cannot be named {name!r}, as a metric of every evaluation; rename it")
        top, bottom = np.array([one.gauges.get(name, (0.0, 0.0)) for one in tasks]).T
        out[name] = Column(top, bottom, usable)
    return out


def ending_shares(tasks: Sequence[TaskResult]) -> dict[str, Column]:
    """The share of each ending among all rollouts, scored or not."""
    everyone = np.ones(len(tasks), dtype=bool)
    names = sorted({name for one in tasks for name in one.endings})
    shares = {name: [one.endings.get(name, 0) / one.attempts for one in tasks] for name in names}
    return {name: Column(np.array(values), np.ones(len(tasks)), everyone) for name, values in shares.items()}


def estimate(column: Column, *, share: bool, level: float = 0.95, resamples: int = 2000, seed: int = 0) -> Estimate:
    """The value of a column with a bootstrap interval over tasks.

    Args:
        column: of one metric.
        share: the values are probabilities. If all are 0 or all are 1, a bootstrap would give an interval of length 0,
            and Wilson's interval over tasks replaces it.
        level: of the interval.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    top, bottom = column.top_T[column.usable_T], column.bottom_T[column.usable_T]
    if not len(top):
        return Estimate(nan, -np.inf, np.inf, 0)
    if share and (np.all(top == 0) or np.all(top == bottom)):
        interval: Interval = wilson_interval(int(top.sum()), len(top), level=level)
    else:
        interval = ratio_interval(top, bottom, level=level, resamples=resamples, seed=seed)
    return Estimate(ratio(top, bottom), interval.low, interval.high, len(top))


def estimates(
    tasks: Sequence[TaskResult],
    *,
    ks: Sequence[int],
    statistics: Mapping[str, Statistic] = NO_STATISTICS,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimates of all metrics of `columns`, and of all statistics.

    Raises:
        InputError: a statistic has the name of a metric.
    """
    found = {
        name: estimate(column, share=name.startswith("pass"), level=level, resamples=resamples, seed=seed)
        for name, column in columns(tasks, ks=ks).items()
    }
    if twice := sorted(found.keys() & statistics.keys()):
        raise InputError(f"a statistic cannot be named {twice[0]!r}, as another metric; rename it")
    scored = [one for one in tasks if one.scored]
    return found | {
        name: _whole(statistic, scored, level=level, resamples=resamples, seed=seed)
        for name, statistic in statistics.items()
    }


def _whole(statistic: Statistic, tasks: Sequence[TaskResult], *, level: float, resamples: int, seed: int) -> Estimate:
    """A statistic of the whole evaluation, with a percentile bootstrap interval over tasks."""
    if not tasks:
        return Estimate(nan, -np.inf, np.inf, 0)
    rng = generator("statistic", seed)
    drawn = [statistic([tasks[i] for i in rng.integers(len(tasks), size=len(tasks))]) for _ in range(resamples)]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(statistic(tasks)), float(low), float(high), len(tasks))


def _ending_name(trajectory: Trajectory) -> str:
    ending = trajectory.ending
    return f"truncated({ending.reason})" if ending.kind == "truncated" else ending.kind
