"""Additional evaluation metrics of worlds and claims: ratios of sums, and custom figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from handaxe.core.records import Trajectory

__all__ = ["Measure", "RatioMetric", "Statistic", "TaskResult"]

Measure = Callable[[Trajectory, float], float]
"""(trajectory, its outcome) -> number."""


class RatioMetric(NamedTuple):
    """Ratio of two sums over scored rollouts: sum of `top` / sum of `bottom`, each summed by task first.

    Example:
        RatioMetric(lambda one, outcome: len(one.calls), lambda one, outcome: float(outcome > 0.5))
        is calls per correct answer
    """

    top: Measure
    bottom: Measure = lambda attempt, outcome: 1.0


@dataclass(frozen=True)
class TaskResult:
    """Evaluation result of one task.

    attempts  number of rollouts;  scored  those with a score; the others ended as infra_error or verifier_error
    correct   scored rollouts whose reward passed;  reward, calls, tokens, seconds, cost  means over scored rollouts
    endings   count of each ending over all rollouts: "completed", "truncated(turns)", "infra_error", ...
    gauges    name -> (top, bottom), each the mean over scored rollouts
    """

    id: str
    attempts: int
    scored: int
    correct: int
    reward: float
    calls: float
    tokens: float
    seconds: float
    cost: float
    endings: Mapping[str, int]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    gauges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


Statistic = Callable[[Sequence[TaskResult]], float]
"""Figure of a whole evaluation other than a ratio of sums, such as a calibration error."""
