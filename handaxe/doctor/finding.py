"""What a check says, and where the lines are drawn between what is well and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Finding", "Level", "THRESHOLDS", "Thresholds", "graded", "unchecked"]

Level = Literal["ok", "look", "wrong"]


@dataclass(frozen=True)
class Finding:
    """What one check says.

    check    its name
    level    ok; look: a person should decide, or it could not be checked; wrong: the run would be spoilt
    found    what was found, with its figures
    remedy   what to do; "" where there is nothing to do
    figures  the numbers by name, NaN where there is none
    """

    check: str
    level: Level
    found: str
    remedy: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Above which figure a check says look, and above which wrong: pairs (look, wrong).

    logp_mean      nats: mean absolute difference of the log-probs of sampler and trainer at a token
    logp_max       nats: the largest; only looked at, since a single token spoils nothing
    zero_gradient  share of groups that give no gradient; 1 is wrong, where enough was played to say so
    expert         share of tasks on which the expert is not right
    empty          share of tasks on which the empty answer is right
    room           share of tasks on which the expert itself is cut off
    cut            share of attempts that are truncated
    failed         share of calls that fail for no fault of the policy
    refused        share of calls that the tool says it cannot carry out
    seconds        seconds of a call, 95th percentile
    reply          share of the context that the longest reply takes
    memory         share of the machine's memory that is in use at its height
    """

    logp_mean: tuple[float, float] = (1e-3, 0.02)
    logp_max: float = 0.1
    zero_gradient: float = 0.5
    expert: tuple[float, float] = (0.0, 0.25)
    empty: tuple[float, float] = (0.0, 0.1)
    room: tuple[float, float] = (0.0, 0.25)
    cut: tuple[float, float] = (0.1, 0.5)
    failed: tuple[float, float] = (0.0, 0.05)
    refused: float = 0.5
    seconds: tuple[float, float] = (2.0, 20.0)
    reply: tuple[float, float] = (0.25, 0.75)
    memory: tuple[float, float] = (0.7, 0.95)


THRESHOLDS = Thresholds()


def graded(value: float, limits: tuple[float, float]) -> Level:
    """The level of a figure that should be small; NaN is a matter to look at.

    Example:
        graded(0.3, (0.1, 0.5)) -> "look"
    """
    if value > limits[1]:
        return "wrong"
    return "ok" if value <= limits[0] else "look"


def unchecked(check: str, why: str, remedy: str = "") -> Finding:
    """A check that could not be made, which a person should know of."""
    return Finding(check, "look", f"cannot be checked: {why}", remedy)
