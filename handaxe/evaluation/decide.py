"""Decision of a claim by pairs of runs, with looks at 8, 16 and 32 pairs."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Literal, NamedTuple

import numpy as np
import scipy  # scipy.stats takes a second: imported on use

from handaxe.core.errors import InputError
from handaxe.evaluation.claim_figures import ClaimFigures, Control, PairedFigures
from handaxe.evaluation.claims import Claim
from handaxe.ops.stats import mean_interval

__all__ = ["CONTROLS", "Decision", "LOOKS", "Look", "Verdict", "control_pairs", "decide"]

Verdict = Literal["holds", "reversed", "no effect", "undecided", "not testable"]


class Look(NamedTuple):
    """A number of pairs at which a claim can be decided, and the two-sided error of its interval."""

    pairs: int
    error: float


LOOKS = (Look(8, 0.010), Look(16, 0.015), Look(32, 0.025))
"""The errors add up to 0.05, a union bound over the looks."""
CONTROLS = 4
"""Least number of control pairs at a look."""
MOST_PAIRS = 1000


class Decision(NamedTuple):
    """Verdict of a claim.

    verdict   holds, reversed, no effect, undecided, or not testable;  why   one sentence
    paired    the figure of the claim at the deciding look, with the interval of the look
    kept      the figure that must not fall, at the same look; None without one
    margin    largest effect that counts as none, in the unit of the figure
    look      number of pairs of the deciding look; 0 before the first look, and for a claim that is not testable
    p         p-value of the mean difference at that look, times the number of looks; 1 without a look
    pairs     for an undecided claim, number of pairs that would decide at the observed spread; 0 if unknown
    """

    verdict: Verdict
    why: str
    paired: PairedFigures
    kept: PairedFigures | None = None
    margin: float = 0.0
    look: int = 0
    p: float = 1.0
    pairs: int = 0


def control_pairs(pairs: int) -> int:
    """Number of runs with permuted rewards for a number of pairs: half, and at least 4."""
    return min(pairs, max(CONTROLS, pairs // 2))


def decide(claim: Claim, figures: ClaimFigures) -> Decision:
    """Decide a claim at the first look that decides.

        d_s = sign * (ours_s - theirs_s)       sign = 1 for "up", -1 for "down", s = 1..n of a look
        [low, high]     interval of mean(d), Student's t, of level 1 - error of the look
        holds           low > 0, and the figure in `keeps` falls by less than its margin
        reversed        high < 0, or the figure in `keeps` falls by more than its margin
        no effect       -margin < low and high < margin
        not testable    an obstacle; or runs with permuted rewards move the figure as far
        undecided       none of these at the last look, or most runs never reach the level of the claim

    A control moves as far if the interval of its difference from the claim's contains 0 and its mean reaches the near
    end of the claim's interval. If only the interval contains 0, the claim is undecided at this look. A single control
    run has no interval, and moves as far if it reaches the near end.

    A method that reads no reward of the run has no control (`ClaimFigures.unread`); its claim can hold, and `why` says
    so.

    Args:
        claim: to decide.
        figures: of `measure_claim`, of all pairs.

    Raises:
        InputError: fewer than two pairs, sides of unequal length, or a figure without margin.

    Example:
        8 pairs with mean 0.05 and standard deviation 0.026: t(0.995, 7) = 3.4995, the interval is
        0.05 -+ 0.0322: holds. With mean 0: -+0.0322 is not within the margin 0.03: undecided before 16 pairs.
    """
    ours, theirs = figures.paired.ours, figures.paired.theirs
    if len(ours) < 2 or len(ours) != len(theirs):
        raise InputError(f"{len(ours)} runs and {len(theirs)} of the baseline: a claim needs two pairs or more")
    margin = claim.margin_for(theirs)
    if figures.obstacle:
        return Decision("not testable", figures.obstacle, figures.paired, figures.kept, margin)
    if not (isfinite(figures.paired.low) and isfinite(figures.paired.high)):
        return Decision("undecided", "a run has no such figure", figures.paired, figures.kept, margin)
    if figures.unreached:
        return Decision("undecided", figures.unreached, figures.paired, figures.kept, margin)
    decision = Decision(
        "undecided", f"{len(ours)} pairs; the first look needs {LOOKS[0].pairs}", figures.paired, figures.kept, margin
    )
    for place, look in enumerate(LOOKS):
        if look.pairs > len(ours):
            break
        decision = _decide_at(claim, figures, look, place + 1)
        if decision.verdict != "undecided":
            break
    return decision


def _decide_at(claim: Claim, figures: ClaimFigures, look: Look, looks: int) -> Decision:
    """Decide at one look, the `looks`-th."""
    side = 1 if claim.direction == "up" else -1
    paired = figures.paired.first(look.pairs, level=1 - look.error)
    kept = None if figures.kept is None else figures.kept.first(look.pairs, level=1 - look.error)
    low, high = sorted((side * paired.low, side * paired.high))
    margin = claim.margin_for(paired.theirs)

    def made(verdict: Verdict, why: str, pairs: int = 0) -> Decision:
        return Decision(verdict, why, paired, kept, margin, look.pairs, min(1.0, looks * _p_value(paired)), pairs)

    if high < 0:
        return made("reversed", f"{claim.measured} goes the other way")
    if kept is not None and kept.high < -claim.within:
        return made("reversed", f"{claim.keeps} falls by more than {claim.within:g}")
    if low > 0:
        if kept is not None and kept.low <= -claim.within:
            pairs = _pairs_needed(kept, -claim.within)
            return made(
                "undecided", f"{claim.keeps} may have fallen by more than {claim.within:g}{_more(pairs)}", pairs
            )
        control = _control(claim, figures, paired, look)
        if control == "moves":
            return made("not testable", f"with permuted rewards {claim.measured} moves as far")
        if control == "unclear":
            return made("undecided", f"with permuted rewards {claim.measured} may move as far")
        unread = f"; {figures.unread}" if figures.unread else ""
        return made("holds", f"{claim.measured} goes {claim.direction}{unread}")
    if -margin < low and high < margin:
        return made("no effect", f"{claim.measured} moves by less than {margin:.3g}")
    pairs = _pairs_needed(paired, 0.0)
    return made("undecided", f"the interval of {claim.measured} contains 0{_more(pairs)}", pairs)


def _control(
    claim: Claim, figures: ClaimFigures, paired: PairedFigures, look: Look
) -> Literal["differs", "moves", "unclear"]:
    """Compare the claim's change with the change of runs with permuted rewards."""
    control = figures.control
    if control is None or not control.moved:
        return "differs"
    first = Control(*(values[: control_pairs(look.pairs)] for values in control))
    if first.kept and np.mean(first.kept) <= -claim.within:
        return "differs"  # the control loses the figure that must stay, so the claim would not hold for it
    side = 1 if claim.direction == "up" else -1
    moved = side * np.array(first.moved)
    reaches = bool(moved.mean() >= min(side * paired.low, side * paired.high))
    if len(moved) < 2:
        return "moves" if reaches else "differs"
    ours, theirs = np.array(paired.ours[: len(moved)]), np.array(paired.theirs[: len(moved)])
    if mean_interval(side * (ours - theirs) - moved).low > 0:
        return "differs"
    return "moves" if reaches else "unclear"


def _p_value(paired: PairedFigures) -> float:
    """Two-sided p-value of a mean difference of 0; 0 or 1 for pairs without spread."""
    differences = np.array(paired.ours) - np.array(paired.theirs)
    if np.ptp(differences) == 0:
        return 0.0 if differences[0] else 1.0
    p = float(scipy.stats.ttest_1samp(differences, 0.0).pvalue)
    return 1.0 if isnan(p) else p


def _pairs_needed(paired: PairedFigures, bound: float) -> int:
    """The least number of pairs with an interval of the last look off `bound`, at the observed mean and spread; 0 for
    too many.
    """
    differences = np.array(paired.ours) - np.array(paired.theirs)
    spread, distance = float(differences.std(ddof=1)), abs(float(differences.mean()) - bound)
    counts = np.arange(len(differences) + 1, MOST_PAIRS)
    enough = scipy.stats.t.ppf(1 - LOOKS[-1].error / 2, counts - 1) * spread / np.sqrt(counts) < distance
    return int(counts[np.argmax(enough)]) if enough.any() else 0


def _more(pairs: int) -> str:
    return f"; at this spread about {pairs} pairs would decide" if pairs else ""
