"""Figures of a claim in pairs of runs, and reasons for which runs cannot decide it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.html_table import html_table
from handaxe.evaluation.claims import START, ZERO, Claim
from handaxe.evaluation.figures import RunFigures, Series
from handaxe.ops.stats import Interval, mean_interval

__all__ = ["ClaimFigures", "Control", "PairedFigures", "figure", "measure_claim", "pair_figures", "pair_values"]

BUDGET = 0.02
"""Largest relative difference of a budget between method and baseline."""
LEAST_TURNS = 3
ROUNDING = 1e-9
"""Share of the advantages' squared deviations within trajectories that float64 rounding explains."""
UNREAD = "permuted rewards leave the policy unchanged, so there is no control"
CONSTANT_TASKS = 0.85
"""Largest share of held-out tasks that all runs of both sides solve, or that none solves."""


class PairedFigures(NamedTuple):
    """A figure of S pairs of runs.

    ours, theirs    [S] of the method and of the baseline
    difference      mean of ours - theirs, with an interval (Student's t over the pairs), of 95 % unless stated
    """

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    difference: float
    low: float
    high: float

    def first(self, count: int, *, level: float = 0.95) -> PairedFigures:
        """The first pairs, with an interval of this level."""
        return pair_values(self.ours[:count], self.theirs[:count], level=level)

    def _repr_html_(self) -> str:
        """A row per pair, then the means."""
        rows: list[list[object]] = [
            [pair + 1, ours, theirs, f"{ours - theirs:+.4g}"]
            for pair, (ours, theirs) in enumerate(zip(self.ours, self.theirs, strict=True))
        ]
        difference = f"{self.difference:+.4g} [{self.low:+.4g}, {self.high:+.4g}]"
        means = float(np.mean(self.ours)), float(np.mean(self.theirs))
        return html_table(["pair", "ours", "theirs", "difference"], [*rows, ["mean", *means, difference]])


class Control(NamedTuple):
    """Differences of C runs with permuted rewards from the baseline's runs with the same seeds, the first C.

    moved    [C] of the claim's figure
    kept     [C] of the figure bound to not fall; () without such a figure
    """

    moved: tuple[float, ...]
    kept: tuple[float, ...] = ()


class ClaimFigures(NamedTuple):
    """Everything that decides a claim.

    paired       the figure of the claim;  kept   the figure that must not fall, None without one
    control      None without runs with permuted rewards
    obstacle     one sentence on why the claim is not testable, "" otherwise
    unreached    one sentence if most runs never reach the level of the claim, "" otherwise
    unread       one sentence if the method reads no reward of the run, so that permuted rewards change nothing; control
                 is then None. "" otherwise
    """

    paired: PairedFigures
    kept: PairedFigures | None = None
    control: Control | None = None
    obstacle: str = ""
    unreached: str = ""
    unread: str = ""


def measure_claim(
    claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures], *, control: Sequence[RunFigures] = ()
) -> ClaimFigures:
    """Measure a claim in pairs of runs.

    Args:
        claim: to measure.
        result: [S] runs of the method, one a seed.
        baseline: [S] runs of the baseline with the same seeds; ignored for a claim about the start or about 0.
        control: [C <= S] runs of the method with permuted rewards, of the first seeds.

    Raises:
        InputError: a missing figure.
    """
    others = () if claim.alone else baseline
    obstacle = (
        _out_of_bounds(claim, pair_figures(claim, result, others))
        or _missing_turns(claim, result, others)
        or _uneven(claim, result, others)
        or _constant(claim, result, others)
    )
    unread = UNREAD if control and _same_policies(control, result) else ""
    moved = None
    if control and not unread:
        paired = pair_figures(claim, control, others[: len(control)])
        kept = pair_figures(_stays(claim), control, others[: len(control)]) if claim.keeps else None
        moved = Control(_differences(paired), () if kept is None else _differences(kept))
    return ClaimFigures(
        pair_figures(claim, result, others),
        pair_figures(_stays(claim), result, others) if claim.keeps else None,
        moved,
        obstacle,
        _never_reached(claim, result, others),
        unread,
    )


def figure(claim: Claim, run: RunFigures, *, favour: bool = True) -> float:
    """The claim's figure along a run, reduced by `claim.over`.

    A level that is never reached counts as reached at the end of the axis, or at twice the end, whichever is less
    favorable to the claim: `favour` is True for the method's run.
    """
    return _over(claim, _figures(claim, run), favour)


def pair_figures(claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures]) -> PairedFigures:
    """The claim's figure of pairs of runs, with the 95 % interval of the mean difference."""
    ours = [figure(claim, run) for run in result]
    if claim.baseline == START:
        theirs = [float(_figures(claim, run).values[0]) for run in result]
    elif claim.baseline == ZERO:
        theirs = [0.0] * len(ours)
    else:
        theirs = [figure(claim, run, favour=False) for run in baseline]
    return pair_values(ours, theirs)


def pair_values(ours: Sequence[float], theirs: Sequence[float], *, level: float = 0.95) -> PairedFigures:
    """Pair the figures of both sides, with an interval of the mean difference.

    Example:
        ours -1, -2, -3 and theirs 0, 0, 0: the mean is -2 -+ 2.4841, the interval [-4.4841, 0.4841]
    """
    differences = np.array(ours) - np.array(theirs)
    finite = bool(np.isfinite(differences).all())
    interval = mean_interval(differences, level=level) if finite else Interval(float("nan"), float("nan"))
    return PairedFigures(tuple(ours), tuple(theirs), float(differences.mean()), interval.low, interval.high)


def _differences(paired: PairedFigures) -> tuple[float, ...]:
    return tuple(ours - theirs for ours, theirs in zip(paired.ours, paired.theirs))


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


def _uneven(claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures]) -> str:
    for axis in claim.budget if baseline else ():
        ours, theirs = (float(np.mean([run.spent(axis)[-1] for run in runs])) for runs in (result, baseline))
        if abs(ours - theirs) > BUDGET * theirs:
            return f"the method used {ours:.4g} {axis} and the baseline {theirs:.4g}; a budget differs by 2 % at most"
    return ""


def _constant(claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures]) -> str:
    """The figure is at its ceiling or its floor: nearly all tasks have one outcome on both sides."""
    if not claim.metric.startswith("pass@") or claim.over in ("first", "spread") or not baseline:
        return ""
    solved, tried = defaultdict[str, int](int), defaultdict[str, int](int)
    for run in (*result, *baseline):
        last = run.evaluations[max(run.evaluations)]
        for task in last.tasks:
            if not claim.where or str(task.metadata.get(claim.where[0])) == str(claim.where[1]):
                solved[task.id] += task.correct
                tried[task.id] += task.scored
    known = [task for task in tried if tried[task] >= len(result) + len(baseline)]
    same = sum(solved[task] in (0, tried[task]) for task in known)
    if not known or same <= CONSTANT_TASKS * len(known):
        return ""
    return f"{same} of {len(known)} held-out tasks are always solved or never solved by both sides"


def _same_policies(control: Sequence[RunFigures], result: Sequence[RunFigures]) -> bool:
    """Each run with permuted rewards has the last evaluation of the method's run with the same seed, task by task."""
    return all(_last_tasks(one) == _last_tasks(other) != [] for one, other in zip(control, result))


def _last_tasks(run: RunFigures) -> list[tuple[str, int, int, float, float]]:
    if not run.evaluations:
        return []
    last = run.evaluations[max(run.evaluations)]
    return [(one.id, one.scored, one.correct, one.calls, one.tokens) for one in last.tasks]


def _never_reached(claim: Claim, result: Sequence[RunFigures], baseline: Sequence[RunFigures]) -> str:
    if claim.over != "first" or not baseline:
        return ""
    ours, theirs = ([_figures(claim, run).values for run in runs] for runs in (result, baseline))
    short, also = (sum(not _reached(claim, values).any() for values in side) for side in (ours, theirs))
    if 2 * short <= len(ours) or 2 * also <= len(theirs):
        return ""
    return f"{short} of {len(ours)} runs never reach {claim.level:g}, nor do {also} of {len(theirs)} of the baseline"
