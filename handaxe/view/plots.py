"""Plots of replications: each side's mean over its runs, with the interval around it."""

from __future__ import annotations

from pathlib import Path

from handaxe.errors import InputError
from handaxe.evaluation.replication import Replication

__all__ = ["plot_curves"]

COLOURS = ("#1b6ca8", "#c8553d", "#6a994e", "#8338ec")
SIZE, DPI = (4.2, 3.0), 110


def plot_curves(found: Replication, file: Path) -> None:
    """Write a picture with a panel for each figure: the mean over runs at each step, shaded by its 95 % interval.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib; install handaxe[plots], or pass --no-plots") from error
    panels = list(found.curves.items())
    figure = Figure(figsize=(SIZE[0] * len(panels), SIZE[1]), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for panel, (metric, sides) in zip(axes, panels):
        for colour, (name, curve) in zip(COLOURS, sides.items()):
            marker = "." if len(curve.steps) < 3 else ""
            panel.plot(curve.steps, curve.mean, color=colour, label=name, linewidth=1.6, marker=marker)
            panel.fill_between(curve.steps, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
        panel.set_title(metric.removeprefix("training/"), fontsize=10)
        panel.set_xlabel("step", fontsize=9)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].legend(fontsize=8, frameon=False)
    figure.suptitle(f"{found.recipe}: mean of {len(found.seeds)} runs a side, 95 % intervals", fontsize=10)
    figure.savefig(file, metadata={"Software": None})
