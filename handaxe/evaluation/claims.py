"""Claims of papers about runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import isfinite
from typing import Any, Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.evaluation.figures import TRAINING, Axis

__all__ = ["Claim", "START", "ZERO"]

Over = Literal["end", "best", "worst", "area", "spread", "first", "gain"]
START, ZERO = "start", "zero"
TIME = "second"
"""Part of the names of figures about time."""
WORDS = {"area": "mean"}
"""Plain word for an `over` in the text of a claim."""
SHARES = ("pass@", "pass^")
"""Prefixes of evaluation metrics between 0 and 1."""
SHARE_MARGIN = 0.03
AMOUNTS = ("calls", "tokens", "seconds", "cost", "calls_per_correct", "cost_per_correct", "tool_productivity")
RELATIVE_MARGIN = 0.1
"""Default margin of amounts, as a share of the baseline's mean."""


@dataclass(frozen=True)
class Claim:
    """A claim about runs of a method against runs of a baseline with the same seeds and settings.

    Args:
        text: one sentence.
        metric: a figure of evaluations, or "training/NAME" of the training steps.
        direction: the claimed change.
        baseline: "" for the method's base with the same settings, "start" for the initial policy of the run, "zero" for
            the number 0, else a command line such as "toolrl --grade coarse".
        keeps: a figure that must not fall, "" for none.
        within: margin of that figure, in its own unit: its paired difference's interval lies above -within.
        over: statistic of the figure along the run: end, best, worst, mean over the axis (area), standard deviation
            (spread), end minus first value (gain), or the place on the axis where it first reaches `level` (first).
        level: see `over`.
        axis: of "area" and "first".
        where: (metadata key, value) of the held-out tasks; () for all.
        baseline_must_exceed: lower bound of the baseline's mean figure (see `over`), None for no bound. Below it the
            baseline lacks the fault that the paper removes, and the claim is not testable.
        baseline_must_not_exceed: upper bound of the same figure, None for no bound. Above it nothing can be gained.
        budget: axes on which method and baseline may differ by 2 % at most; otherwise there is no verdict.
        control: a run with permuted rewards must not show the same change. None: True, unless the metric is a training
            figure.
        by_turn: the claim is about different advantages of the turns of a rollout. It is not testable if the
            method's advantages are equal within rollouts, or if the baseline's rollouts have fewer than 3 turns on
            average.
        margin: an effect below this has "no effect", in the unit of the figure. None: 0.03 for pass@k, and
            `relative_margin` otherwise.
        relative_margin: the same, as a share of the baseline's mean. None: 0.1 for `over="first"` and for calls,
            tokens, seconds, cost, calls_per_correct, cost_per_correct and tool_productivity. Other figures have no
            default, and their claims need one.
        note: a remark on the measured figures, "" for none.

    Raises:
        InputError: arguments that do not fit each other.
    """

    text: str
    metric: str
    direction: Literal["up", "down"]
    _: KW_ONLY
    baseline: str = ""
    keeps: str = ""
    within: float = 0.05
    over: Over = "end"
    level: float | None = None
    axis: Axis = "steps"
    where: tuple[str, Any] | tuple[()] = ()
    baseline_must_exceed: float | None = None
    baseline_must_not_exceed: float | None = None
    budget: tuple[Axis, ...] = ()
    control: bool | None = None
    by_turn: bool = False
    margin: float | None = None
    relative_margin: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.direction not in ("up", "down"):
            raise InputError(f"a claim goes up or down, not {self.direction!r}")
        if self.keeps and self.keeps == self.metric:
            raise InputError(f"keeps is {self.keeps!r}, the metric of the claim; give another one")
        if (self.over == "first") != (self.level is not None):
            raise InputError("over='first' and level= go together: give both or neither")
        if self.over == "gain" and self.baseline == START:
            raise InputError("a gain is measured from the start already: give the claim another baseline")
        if self.within <= 0:
            raise InputError(f"within is {self.within}; give a margin above 0")
        self._check_margin()

    def _check_margin(self) -> None:
        given = [one for one in (self.margin, self.relative_margin) if one is not None]
        if len(given) > 1 or any(not (isfinite(one) and one > 0) for one in given):
            raise InputError(
                f"margin is {self.margin} and relative_margin {self.relative_margin}; give one of them, above 0"
            )

    @property
    def _is_share(self) -> bool:
        return self.metric.startswith(SHARES) and self.over not in ("first", "spread")

    @property
    def _is_amount(self) -> bool:
        return self.over == "first" or self.metric in AMOUNTS

    def margin_for(self, theirs: Sequence[float]) -> float:
        """The largest effect that counts as none, in the unit of the figure.

        Args:
            theirs: figures of the baseline, for a relative margin.

        Raises:
            InputError: the figure has no default margin, and the claim gives none.
        """
        if self.margin is not None:
            return self.margin
        if self.relative_margin is None and self._is_share:
            return SHARE_MARGIN
        if self.relative_margin is None and (not self._is_amount or self.baseline == ZERO):
            raise InputError(
                f"{self.measured} has no default margin: add margin = N in its unit, or relative_margin = 0.1, the "
                "largest effect that counts as none"
            )
        return (self.relative_margin or RELATIVE_MARGIN) * abs(float(np.mean(theirs)))

    @property
    def needs_control(self) -> bool:
        """The claim must not hold with permuted rewards."""
        return not self.metric.startswith(TRAINING) if self.control is None else self.control

    @property
    def needs_other_update(self) -> bool:
        """The claim is untested if the method updates the policy as its base does. A claim about time, or against the
        start or 0, is not.
        """
        return not self.alone and TIME not in self.metric

    @property
    def measured(self) -> str:
        """The figure in words: "calls", "calls (mean of the run)", "tokens until pass@1 is 0.7"."""
        if self.over == "first":
            return f"{self.axis} until {self.metric} is {self.level:g}"
        return self.metric if self.over == "end" else f"{self.metric} ({WORDS.get(self.over, self.over)} of the run)"

    def decides_as(self, other: Claim) -> bool:
        """Return True if the same runs measure both claims: only text, note and margin differ."""
        ignored: dict[str, Any] = {"text": "", "note": "", "margin": None, "relative_margin": None}
        return replace(other, **ignored) == replace(self, **ignored)

    @property
    def alone(self) -> bool:
        """The method's runs decide the claim without runs of a baseline."""
        return self.baseline in (START, ZERO)
