"""Result of a check, and thresholds of warnings and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Finding", "Level", "THRESHOLDS", "Thresholds", "grade", "not_checked"]

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """Result of a check.

    check    name of the check
    level    ok; warning: needs a decision, or could not be checked; error: the run would fail or learn nothing useful
    found    the finding in words, with figures
    remedy   advice; "" for level ok
    figures  numbers by name, NaN for a missing number
    """

    check: str
    level: Level
    found: str
    remedy: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Upper limits of figures: pairs (warning, error), or a number that only warns.

    logp_mean      nats: mean absolute difference between the log-probs of sampler and trainer over tokens
    logp_max       nats: maximum of the same difference; only warns, since a single token has little effect
    zero_gradient  share of groups without a gradient; a share of 1 is an error if enough groups were played
    expert         share of tasks with an incorrect expert
    empty          share of tasks with a correct empty answer
    limits         share of tasks with a truncated expert
    cut            share of truncated rollouts
    failed         share of calls that fail through no fault of the policy
    refused        share of calls refused by the tool
    seconds        seconds of a call, 95th percentile
    reply          share of the context taken by the longest reply
    memory         share of the machine's memory at peak use
    """

    logp_mean: tuple[float, float] = (1e-3, 0.02)
    logp_max: float = 0.1
    zero_gradient: float = 0.5
    expert: tuple[float, float] = (0.0, 0.25)
    empty: tuple[float, float] = (0.0, 0.1)
    limits: tuple[float, float] = (0.0, 0.25)
    cut: tuple[float, float] = (0.1, 0.5)
    failed: tuple[float, float] = (0.0, 0.05)
    refused: float = 0.5
    seconds: tuple[float, float] = (2.0, 20.0)
    reply: tuple[float, float] = (0.25, 0.75)
    memory: tuple[float, float] = (0.7, 0.95)


THRESHOLDS = Thresholds()


def grade(value: float, limits: tuple[float, float]) -> Level:
    """Compare a figure with the limits of warning and error; NaN is a warning.

    Example:
        grade(0.3, (0.1, 0.5)) -> "warning"
    """
    if value > limits[1]:
        return "error"
    return "ok" if value <= limits[0] else "warning"


def not_checked(check: str, why: str, remedy: str = "") -> Finding:
    """Make a warning for a check that could not run."""
    return Finding(check, "warning", f"cannot be checked: {why}", remedy)
