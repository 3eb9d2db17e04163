"""Views of a run's metrics: curves by step, and an HTML table for notebooks."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.html_table import html_table
from handaxe.ops.figure import new_figure

__all__ = ["Curves", "metric_curves", "metric_table"]

NAMES = ("reward", "eval/pass@1", "calls", "tokens", "loss")
"""Metrics of a table, and of a plot without names; those that a run has."""
PLOTTED = 3
"""Panels of a plot without names."""
ROWS = 12
"""Steps of a table; a longer run shows the first, the last, and steps at equal distances."""
PANELS = 3
"""Panels per row."""
COLOUR = "#1b6ca8"


@dataclass(frozen=True)
class Curves:
    """Plot of metrics by step. A notebook shows it; `figure` is matplotlib's, for changes."""

    figure: Any

    def save(self, file: str | Path) -> None:
        """Write the plot; the extension decides the format.

        Raises:
            InputError: matplotlib does not know the format.
        """
        try:
            self.figure.savefig(file, metadata={"Software": None} if Path(file).suffix == ".png" else None)
        except ValueError as error:
            raise InputError(f"{file}: {error}") from error

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", metadata={"Software": None})
        return buffer.getvalue()


def metric_curves(metrics: Sequence[Mapping[str, float]], names: Sequence[str] = ()) -> Curves:
    """Draw a panel per metric, over the number of steps done. A metric of few steps, such as eval/pass@1, has points.

    Args:
        metrics: of each step, with the key "step".
        names: of metrics; without names, the main ones.

    Raises:
        InputError: a name that no step has, a run without steps, or matplotlib is not installed (extra [plots]).
    """
    known = sorted({name for row in metrics for name in row} - {"step"})
    chosen = list(names) or [name for name in NAMES if name in known][:PLOTTED]
    if missing := [name for name in chosen if name not in known]:
        raise InputError(f"no step has the metric {missing[0]!r}; the metrics are {', '.join(known) or 'none'}")
    if not chosen:
        raise InputError("the run has no step with a metric, so there is nothing to plot")
    rows = -(-len(chosen) // PANELS)
    figure, panels = new_figure(rows, min(len(chosen), PANELS))
    for panel, name in zip(panels, chosen):
        found = [(row["step"] + 1, row[name]) for row in metrics if name in row]
        steps, values = np.array(found).T
        panel.plot(steps, values, color=COLOUR, linewidth=1.6, marker="o" if len(steps) < len(metrics) else "")
        if len(steps) == 1:
            panel.plot(steps, values, color=COLOUR, marker="o")
        panel.set_title(name, fontsize=10, parse_math=False)
        panel.set_xlabel("step", fontsize=9)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[len(chosen) :]:
        panel.set_visible(False)
    return Curves(figure)


def metric_table(metrics: Sequence[Mapping[str, float]], *, caption: str) -> str:
    """Write the main metrics of a run as an HTML table, a row for each of at most 12 steps."""
    names = [name for name in NAMES if any(name in row for row in metrics)]
    places = np.unique(np.linspace(0, len(metrics) - 1, min(len(metrics), ROWS)).round().astype(int))
    shown = [metrics[place] for place in places.tolist()]
    cells = [[int(row["step"]) + 1, *(row.get(name, float("nan")) for name in names)] for row in shown]
    return html_table(["step", *names], cells, caption=caption)
