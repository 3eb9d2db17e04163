"""What a world or a claim measures of attempts besides the usual figures: ratios of sums, and other numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from handaxe.core.records import Trajectory

__all__ = ["Measure", "RatioMetric", "Statistic", "TaskResult"]

Measure = Callable[[Trajectory, float], float]
"""(attempt, its outcome) -> number."""


class RatioMetric(NamedTuple):
    """A ratio of two sums over the scored attempts: sum of `top` / sum of `bottom`, each summed by task first.

    Example:
        RatioMetric(lambda one, outcome: len(one.calls), lambda one, outcome: float(outcome > 0.5))
        is calls for each right answer
    """

    top: Measure
    bottom: Measure = lambda attempt, outcome: 1.0


@dataclass(frozen=True)
class TaskResult:
    """What came of the attempts at one task.

    attempts  how many there were;  scored  how many count, the others ended as infra_error or verifier_error
    correct   scored attempts whose reward passed;  reward, calls, tokens, seconds, cost  means over scored attempts
    endings   how often the attempts, all of them, ended how: "completed", "truncated(turns)", "infra_error", ...
    gauges    name -> (top, bottom), each the mean over scored attempts
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
"""A figure of a whole evaluation that is no ratio of sums, such as a calibration error."""
