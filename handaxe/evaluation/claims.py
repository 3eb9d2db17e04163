"""Claims of papers about runs, and the decision of a claim by paired runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import isfinite
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import stats

from handaxe.core.errors import InputError
from handaxe.evaluation.figures import TRAINING, Axis, RunFigures, Series
from handaxe.ops.stats import Interval, mean_interval

__all__ = [
    "Claim",
    "Control",
    "Decision",
    "PairedFigures",
    "Verdict",
    "decide",
    "figure",
    "measure_control",
    "pair_figures",
]

Over = Literal["end", "best", "worst", "area", "spread", "first", "gain"]
Verdict = Literal["holds", "does not hold", "undecided", "not testable here"]
START, ZERO = "start", "zero"
WORDS = {"area": "mean"}
"""Plain word for an `over` in the text of a claim."""
BUDGET = 0.02
"""Largest relative difference of a budget between method and baseline."""
MOST_SEEDS = 1000
LEAST_TURNS = 3
ROUNDING = 1e-9
"""Share of the advantages' squared deviations within trajectories that float64 rounding explains."""


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
            baseline lacks the fault that the paper removes, and the claim is not testable here.
        baseline_must_not_exceed: upper bound of the same figure, None for no bound. Above it nothing can be gained.
        budget: axes on which method and baseline may differ by 2 % at most; otherwise there is no verdict.
        control: a run with permuted rewards must not show the same change. None: True, unless the metric is a training
            figure.
        by_turn: the claim is about different advantages of the turns of a rollout. It is not testable here if the
            method's advantages are equal within rollouts, or if the baseline's rollouts have fewer than 3 turns on
            average.
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

    @property
    def needs_control(self) -> bool:
        """The claim must not hold with permuted rewards."""
        return not self.metric.startswith(TRAINING) if self.control is None else self.control

    @property
    def measured(self) -> str:
        """The figure in words: "calls", "calls (mean of the run)", "tokens until pass@1 is 0.7"."""
        if self.over == "first":
            return f"{self.axis} until {self.metric} is {self.level:g}"
        return self.metric if self.over == "end" else f"{self.metric} ({WORDS.get(self.over, self.over)} of the run)"

    def decides_as(self, other: Claim) -> bool:
        """Return True if the same runs give both claims the same verdict: only text and note differ."""
        return replace(other, text=self.text, note=self.note) == self

    @property
    def alone(self) -> bool:
        """The method's runs decide the claim without runs of a baseline."""
        return self.baseline in (START, ZERO)


class PairedFigures(NamedTuple):
    """A figure of S pairs of runs.

    ours, theirs    [S] of the method and of the baseline
    difference      mean of ours - theirs, with its 95 % interval (Student's t over the pairs)
    """

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    difference: float
    low: float
    high: float


class Decision(NamedTuple):
    """Verdict of a claim.

    verdict   holds, does not hold, undecided, or not testable here;  why   one sentence
    paired    the figure of the claim;  kept   the figure that must not fall, None without one
    seeds     for an undecided claim, the number of pairs that would decide it at the observed spread; 0 if unknown
    """

    verdict: Verdict
    why: str
    paired: PairedFigures
    kept: PairedFigures | None = None
    seeds: int = 0


class Control(NamedTuple):
    """Differences of one run with permuted rewards from the baseline's run with the same seed: of the claim's
    figure, and of the figure bound to not fall (None without such a figure).
    """

    moved: float
    kept: float | None = None


def decide(
    claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures], *, control: Control | None = None
) -> Decision:
    """Decide a claim by pairs of runs.

        d_s = figure(result_s) - figure(baseline_s)        of the pairs s = 1..S, each with its own seed
        holds           the 95 % interval of mean(d) lies on the claimed side of 0, and `keeps` stays
        does not hold   it lies on the other side, or `keeps` fell by more than the margin
        undecided       it contains 0; or more than half of the runs of both sides never reach the level of the claim

    Args:
        claim: to decide.
        result: runs of the method, one a seed.
        baseline: runs of the baseline with the same seeds; none for a claim about the start or about 0.
        control: of `measure_control`. If its figure reaches the near end of the interval, and `keeps` stays, the claim
            does not rest on the reward.

    Raises:
        InputError: fewer than two pairs, runs without a partner, or a missing figure.

    Example:
        direction down, d = -1, -2, -3: the mean is -2 -+ 2.4841, the interval [-4.4841, 0.4841]: undecided
        d = -2, -2.1, -1.9: -2 -+ 0.2484: holds
    """
    others = () if claim.alone else baseline
    if len(result) < 2 or (not claim.alone and len(others) != len(result)):
        raise InputError(f"{len(result)} runs and {len(others)} of the baseline: a claim needs two pairs or more")
    paired = pair_figures(claim, result, others)
    kept = pair_figures(_stays(claim), result, others) if claim.keeps else None
    if no := _out_of_bounds(claim, paired) or _missing_turns(claim, result, others) or _uneven(claim, result, others):
        return Decision("not testable here", no, paired, kept)
    side = 1 if claim.direction == "up" else -1
    if not (isfinite(paired.low) and isfinite(paired.high)):
        return Decision("undecided", "a run has no such figure", paired, kept)
    if never := _never_reached(claim, result, others):
        return Decision("undecided", never, paired, kept)
    if side * paired.difference < 0 and (paired.high if side > 0 else -paired.low) < 0:
        return Decision("does not hold", f"{claim.measured} goes the other way", paired, kept)
    if kept is not None and kept.high < -claim.within:
        return Decision("does not hold", f"{claim.keeps} falls by more than {claim.within:g}", paired, kept)
    if (paired.low if side > 0 else -paired.high) <= 0:
        seeds = _seeds(paired, 0.0)
        return Decision("undecided", f"the interval of {claim.measured} contains 0{_more(seeds)}", paired, kept, seeds)
    if kept is not None and kept.low <= -claim.within:
        seeds = _seeds(kept, -claim.within)
        why = f"{claim.keeps} may have fallen by more than {claim.within:g}{_more(seeds)}"
        return Decision("undecided", why, paired, kept, seeds)
    stayed = control is not None and (control.kept is None or control.kept > -claim.within)
    if control is not None and stayed and side * control.moved >= (paired.low if side > 0 else -paired.high):
        why = f"with permuted rewards {claim.measured} moves by {control.moved:+.3g} too"
        return Decision("not testable here", why, paired, kept)
    return Decision("holds", f"{claim.measured} goes {claim.direction}", paired, kept)


def measure_control(claim: Claim, control: RunFigures, baseline: RunFigures | None) -> Control:
    """Compare a run with permuted rewards with the baseline's run of the same seed."""
    others = [] if baseline is None else [baseline]
    kept = pair_figures(_stays(claim), [control], others).difference if claim.keeps else None
    return Control(pair_figures(claim, [control], others).difference, kept)


def figure(claim: Claim, run: RunFigures, *, favour: bool = True) -> float:
    """The claim's figure along a run, reduced by `claim.over`.

    A level that is never reached counts as reached at the end of the axis, or at twice the end, whichever is less
    favorable
    to the claim: `favour` is True for the method's run.
    """
    return _over(claim, _figures(claim, run), favour)


def _figures(claim: Claim, run: RunFigures) -> Series:
    return run.series(claim.metric, where=claim.where, axis=claim.axis)


def _over(claim: Claim, found: Series, favour: bool) -> float:
    axis, values = found
    up = claim.direction == "up"
    if claim.over == "end":
        return float(values[-1])
    if claim.over == "gain":
        return float(values[-1] - values[0])
    if claim.over in ("best", "worst"):
        return float(values.max() if up == (claim.over == "best") else values.min())
    if claim.over == "spread":
        return float(values.std())
    if claim.over == "area":
        return float(np.trapezoid(values, axis) / (axis[-1] - axis[0])) if len(axis) > 1 else float(values[-1])
    reached = _reached(claim, values)
    if reached.any():
        return float(axis[int(np.argmax(reached))])
    return float(axis[-1] * (2 if favour != up else 1))


def _reached(claim: Claim, values: np.ndarray) -> np.ndarray:
    """Values at or past the level, seen from the first value."""
    assert claim.level is not None
    return values >= claim.level if values[0] < claim.level else values <= claim.level


def pair_figures(claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures]) -> PairedFigures:
    """The claim's figure of pairs of runs, with the interval of the mean difference."""
    ours = [figure(claim, run) for run in result]
    if claim.baseline == START:
        theirs = [float(_figures(claim, run).values[0]) for run in result]
    elif claim.baseline == ZERO:
        theirs = [0.0] * len(ours)
    else:
        theirs = [figure(claim, run, favour=False) for run in baseline]
    differences = np.array(ours) - np.array(theirs)
    interval = mean_interval(differences) if np.isfinite(differences).all() else Interval(float("nan"), float("nan"))
    return PairedFigures(tuple(ours), tuple(theirs), float(differences.mean()), interval.low, interval.high)


def _stays(claim: Claim) -> Claim:
    """A claim about the end of the figure bound to not fall, at the same tasks."""
    return Claim(text=claim.text, metric=claim.keeps, direction="up", baseline=claim.baseline, where=claim.where)


def _out_of_bounds(claim: Claim, paired: PairedFigures) -> str:
    shown, bound = float(np.mean(paired.theirs)), ""
    if claim.baseline_must_exceed is not None and shown < claim.baseline_must_exceed:
        bound = f"at least {claim.baseline_must_exceed:g}"
    if claim.baseline_must_not_exceed is not None and shown > claim.baseline_must_not_exceed:
        bound = f"at most {claim.baseline_must_not_exceed:g}"
    return f"{claim.measured} of the baseline is {shown:.3g}; the claim needs {bound}" if bound else ""


def _missing_turns(claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures]) -> str:
    if not claim.by_turn:
        return ""
    turns = float(np.mean([np.nanmean(run.series("training/turns").values) for run in baseline or result]))
    if turns < LEAST_TURNS:
        return f"rollouts of the baseline have {turns:.3g} turns; a claim about turns needs {LEAST_TURNS} or more"
    if not any((run.series("training/advantage/within").values > ROUNDING).any() for run in result):
        return "the method gives all turns of a rollout one advantage"
    return ""


def _never_reached(claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures]) -> str:
    if claim.over != "first" or not baseline:
        return ""
    ours, theirs = ([_figures(claim, run).values for run in runs] for runs in (result, baseline))
    short, also = (sum(not _reached(claim, values).any() for values in side) for side in (ours, theirs))
    if 2 * short <= len(ours) or 2 * also <= len(theirs):
        return ""
    return f"{short} of {len(ours)} runs never reach {claim.level:g}, nor do {also} of {len(theirs)} of the baseline"


def _uneven(claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures]) -> str:
    for axis in claim.budget if baseline else ():
        ours, theirs = (float(np.mean([run.spent(axis)[-1] for run in runs])) for runs in (result, baseline))
        if abs(ours - theirs) > BUDGET * theirs:
            return f"the method used {ours:.4g} {axis} and the baseline {theirs:.4g}; a budget differs by 2 % at most"
    return ""


def _seeds(paired: PairedFigures, bound: float) -> int:
    """The least number of pairs with an interval off `bound` at the observed mean and spread; 0 for too many."""
    differences = np.array(paired.ours) - np.array(paired.theirs)
    spread, distance = float(differences.std(ddof=1)), abs(float(differences.mean()) - bound)
    for count in range(len(differences) + 1, MOST_SEEDS if distance else 0):
        if stats.t.ppf(0.975, count - 1) * spread / np.sqrt(count) < distance:
            return count
    return 0


def _more(seeds: int) -> str:
    return f"; at this spread about {seeds} pairs would decide" if seeds else ""
