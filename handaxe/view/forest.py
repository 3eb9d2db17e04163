"""Forest plots: the effect of each claim in its claimed direction, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.evaluation.replication import DecidedClaim

__all__ = ["Effect", "claim_effect", "plot_forest"]

COLORS = {
    "holds": "#3a7d44",
    "reversed": "#b23a48",
    "no effect": "#3b6ea5",
    "undecided": "#8a8a8a",
    "not testable": "#c9a227",
}
LINEAR = 2.0
"""The axis is linear up to this many margins, logarithmic beyond."""
ROW = 0.26
"""Inches a row."""


class Effect(NamedTuple):
    """The mean paired difference of a claim in the claimed direction, in units of the claim's margin.

    label     of the row
    mean      of the difference;  low, high  its interval at the deciding look
    verdict   of the claim
    """

    label: str
    mean: float
    low: float
    high: float
    verdict: str


def claim_effect(label: str, one: DecidedClaim) -> Effect | None:
    """The effect of a decided claim.

        effect = sign * mean(d) / margin,   d_s = ours_s - theirs_s,   sign = 1 for "up", -1 for "down"

    Returns:
        None if a figure is not finite, or the margin is 0.

    Example:
        direction down, margin 0.5, d = -1, -2, -3: the effect is 4, with interval -0.9682 to 8.9682
    """
    paired, margin = one.decision.paired, one.decision.margin
    if not margin or not all(isfinite(value) for value in (paired.difference, paired.low, paired.high, margin)):
        return None
    side = 1 if one.claim.direction == "up" else -1
    low, high = sorted((side * paired.low / margin, side * paired.high / margin))
    return Effect(label, side * paired.difference / margin, low, high, one.decision.verdict)


def plot_forest(effects: Sequence[Effect], file: Path, *, title: str = "") -> None:
    """Draw one row an effect: its mean and interval, colored by verdict.

    Args:
        effects: at least one, in the order of the rows.
        file: its suffix chooses the format, such as .svg.
        title: above the plot.

    Raises:
        InputError: there is no effect, or matplotlib is not installed (extra [plots]).
    """
    if not effects:
        raise InputError("a forest plot needs an effect")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib: pip install 'handaxe[plots]'") from error
    figure = Figure(figsize=(9.0, 1.2 + ROW * len(effects)), layout="constrained")
    axes = figure.add_subplot()
    for row, one in enumerate(reversed(effects)):
        color = COLORS.get(one.verdict, "black")
        axes.plot([one.low, one.high], [row, row], color=color, linewidth=1.6, solid_capstyle="butt")
        axes.plot(one.mean, row, "o", color=color, markersize=4)
    axes.axvspan(-1, 1, color="black", alpha=0.06, linewidth=0)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=LINEAR)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(ylim=(-0.7, len(effects) - 0.3))
    axes.set_yticks(range(len(effects)), [one.label for one in reversed(effects)], fontsize=7)
    axes.set_xlabel("mean paired difference in the claimed direction, in margins; shaded: no effect", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(title, fontsize=9, loc="left")
    verdicts = dict.fromkeys(one.verdict for one in effects)
    for verdict in verdicts:
        axes.plot([], [], "o-", color=COLORS.get(verdict, "black"), label=verdict, markersize=4)
    figure.legend(fontsize=7, frameon=False, loc="outside lower center", ncols=len(verdicts))
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else {"Software": None})
