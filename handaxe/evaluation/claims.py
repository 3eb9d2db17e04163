"""What a paper says will happen, in a form that paired runs decide."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from handaxe.errors import InputError

__all__ = ["Claim"]

Over = Literal["end", "best", "worst", "area", "spread", "first"]
Axis = Literal["steps", "tokens", "calls", "seconds"]


@dataclass(frozen=True)
class Claim:
    """What a recipe claims of its runs against those of a baseline with the same seeds and setting.

    Args:
        statement: one sentence.
        metric: the figure it is about, as evaluation reports it or, "training/NAME", as the steps of a run do.
        direction: which way the paper moves it.
        baseline: "" for the recipe's base in the same setting, "start" for the policy that the run starts from, "zero"
            for the number 0, else a command line such as "toolrl --grade coarse".
        same: a figure that stays where it is, "" for none.
        within: how far that figure may fall, in its own unit: its paired difference's interval lies above -within.
        over: what is made of the figure along the run: its end, best, worst, area under it, spread (standard deviation)
            or, with `level`, when it first reaches that level on `axis`.
        level: see `over`.
        axis: what "area" and "first" run along.
        where: (metadata key, value) of the held-out tasks it is about; () for all.
        vice: the least (direction "down") or the most (direction "up") that the baseline's own end may show of the
            metric; beyond it there is nothing to remove, and the claim is not testable here. None for no such bound.
        stage: the stage of the recipe that it is about, "" for the last.
        note: what to know of the measured figures, "" for nothing.

    Raises:
        InputError: arguments that do not fit each other.
    """

    statement: str
    metric: str
    direction: Literal["up", "down"]
    _: KW_ONLY
    baseline: str = ""
    same: str = ""
    within: float = 0.05
    over: Over = "end"
    level: float | None = None
    axis: Axis = "steps"
    where: tuple[str, Any] | tuple[()] = ()
    vice: float | None = None
    stage: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.direction not in ("up", "down"):
            raise InputError(f"a claim goes up or down, not {self.direction!r}")
        if self.same and self.same == self.metric:
            raise InputError(f"a claim that {self.same!r} stays needs another metric than that")
        if (self.over == "first") != (self.level is not None):
            raise InputError("a claim about when a level is first reached has over='first' and level=, both or neither")
        if self.within <= 0:
            raise InputError(f"within is {self.within}; a margin is more than 0")
