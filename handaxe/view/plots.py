"""Plots of replications, of reward channels, and of bias and variance of credits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.evaluation.replication import Curve, Replication
from handaxe.ops.figure import new_figure

if TYPE_CHECKING:
    from handaxe.evaluation.gradient_bias import BiasRow

__all__ = ["plot_bias", "plot_channels", "plot_curves"]

COLOURS = ("#1b6ca8", "#c8553d", "#6a994e", "#8338ec")
STYLES = ("-", "--", ":")
"""Line styles for repeated colours."""
PANELS = 3
"""Panels per row."""
FEW = 3
"""Below this number of steps, a side is drawn as points with error bars, shifted by OFFSET."""
OFFSET = 0.12


def plot_curves(found: Replication, file: Path) -> None:
    """Draw a panel per metric: mean over runs by step with 95 % interval, as error bars for one or two steps.

    Raises:
        InputError: matplotlib is not installed.
    """
    panels = list(found.curves.items())
    names = list(dict.fromkeys(name for sides in found.curves.values() for name in sides))
    figure, axes = new_figure(1, len(panels), instead="leave --plots out")
    for panel, (metric, sides) in zip(axes, panels):
        few = sorted({step for curve in sides.values() for step in curve.steps})
        for number, (name, curve) in enumerate(sides.items()):
            again, place = divmod(names.index(name), len(COLOURS))
            colour, style = COLOURS[place], STYLES[again % len(STYLES)]
            if len(curve.steps) < FEW:
                offset = OFFSET * (number - (len(sides) - 1) / 2) * (len(few) < FEW)
                _bars(panel, curve, offset, colour, name)
                continue
            panel.plot(curve.steps, curve.mean, color=colour, linestyle=style, label=name, linewidth=1.6)
            panel.fill_between(curve.steps, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
        panel.set_title(metric.removeprefix("training/"), fontsize=10)
        panel.set_xlabel("step", fontsize=9)
        panel.xaxis.get_major_locator().set_params(integer=True)
        if len(few) < FEW:
            panel.set(xlim=(few[0] - 0.5, few[-1] + 0.5), xticks=few)
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].legend(fontsize=8, frameon=False)
    figure.suptitle(f"{found.method}: mean of {len(found.seeds)} runs a side, 95 % intervals", fontsize=10)
    figure.savefig(file, metadata={"Software": None})


def _bars(panel: Any, curve: Curve, offset: float, colour: str, label: str) -> None:
    steps, mean = np.array(curve.steps), np.array(curve.mean)
    errors = np.stack([mean - curve.low, curve.high - mean])
    style = {"color": colour, "markersize": 4, "capsize": 3, "linewidth": 1.6, "label": label}
    panel.errorbar(steps + offset, mean, yerr=errors, fmt="o", **style)


def plot_channels(found: Mapping[str, Mapping[str, Sequence[np.ndarray]]], file: Path) -> None:
    """Draw a panel per channel: the cumulative distribution of values over rollouts, with a line per reward.

    Args:
        found: name of a reward -> channel -> values by group, NaN for a missing value.
        file: the extension decides the format.

    Raises:
        InputError: matplotlib is not installed, or does not know the format.
    """
    channels = list(dict.fromkeys(name for one in found.values() for name in one))
    rows, columns = -(-len(channels) // PANELS), min(len(channels), PANELS)
    figure, axes = new_figure(rows, columns, instead="leave --plot out")
    for panel, channel in zip(axes, channels):
        for number, (name, one) in enumerate(found.items()):
            values = np.concatenate([np.zeros(0), *one.get(channel, ())])
            if np.isfinite(values).any():
                again, colour = divmod(number, len(COLOURS))
                style = STYLES[again % len(STYLES)]
                panel.ecdf(values[np.isfinite(values)], color=COLOURS[colour], linestyle=style, label=name)
        panel.set_title(channel, fontsize=10)
        panel.tick_params(labelsize=8)
        panel.set_ylim(0, 1.02)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in axes[len(channels) :]:
        panel.set_visible(False)
    axes[0].legend(fontsize=8, frameon=False)
    figure.supylabel("cumulative share of rollouts", fontsize=9)
    try:
        figure.savefig(file)
    except ValueError as error:
        raise InputError(f"{file}: {error}") from error


def plot_bias(found: Sequence[BiasRow], file: Path) -> None:
    """Draw a row per credit in the given order: angle to the true gradient, clipped to 90 degrees, and variance.

    Raises:
        InputError: matplotlib is not installed.
    """
    figure, (angles, variances) = new_figure(1, 2, instead="pass --no-plots")
    figure.set_size_inches(12, 1.2 + 0.2 * len(found))
    places = np.arange(len(found))
    shown = {"yes": COLOURS[2], "up to its length": COLOURS[0], "no": COLOURS[1]}
    colours = [shown[one.unbiased] for one in found]
    angles.scatter([min(one.angle, 90.0) for one in found], places, color=colours, s=18, clip_on=False)
    variances.scatter([one.variance for one in found], places, color=colours, s=18, clip_on=False)
    for colour, label in zip(shown.values(), ("unbiased", "unbiased up to its length", "biased")):
        variances.scatter([], [], color=colour, s=18, label=label)
    angles.set_yticks(places, [one.case.text for one in found], fontsize=7, family="monospace")
    variances.set_yticks(places, [""] * len(found))
    variances.tick_params(axis="y", length=0)
    angles.set_xlabel("degrees off the true gradient", fontsize=9)
    angles.set_xlim(0, 90)
    angles.tick_params(axis="y", length=0)
    variances.set_xlabel("variance, in squares of its length", fontsize=9)
    variances.set_xscale("log")
    for panel in (angles, variances):
        panel.set_ylim(len(found) - 0.5, -0.5)
        panel.grid(axis="y", linewidth=0.4, alpha=0.5)
        panel.tick_params(axis="x", labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    variances.legend(fontsize=8, frameon=False, loc="center right")
    figure.savefig(file, metadata={"Software": None})
