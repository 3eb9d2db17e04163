"""Line plots in the terminal."""

import math
from collections.abc import Mapping, Sequence

import plotext
from rich.text import Text

from handaxe.core.escape import escape

__all__ = ["terminal_plot"]

MARKERS = (("braille", "\u2812", "green"), ("dot", "\u2022", "magenta"), ("x", "x", "cyan"), ("+", "+", "yellow"))
"""(plotext marker, sign in the legend, colour): lines differ in shape and in colour."""


def terminal_plot(
    series: Mapping[str, Sequence[tuple[float, float]]], *, title: str = "", width: int = 76, height: int = 12
) -> Text:
    """Plot named series of (x, y) points in one diagram.

    Points that are not finite, and series without points, are ignored.

    Args:
        series: name in the legend -> points.
        title: above the plot.
        width: columns.
        height: rows, title and axis included.

    Returns:
        The plot; empty without points.
    """
    finite = {name: [p for p in points if all(map(math.isfinite, p))] for name, points in series.items()}
    finite = {name: points for name, points in finite.items() if points}
    if not finite:
        return Text("")
    figure = plotext.figure  # global to the package, so cleared before and after
    figure.clear()
    figure.theme("simple")
    figure.plot_size(width, height)
    legend = Text(" " * 6)
    for (name, points), (symbol, sign, colour) in zip(finite.items(), MARKERS * len(finite)):
        marker = plotext.marker(symbol, pixel=colour)
        signal = figure.signal([x for x, _ in points], [y for _, y in points], marker=marker)
        legend.append(f"{sign} {escape(name)}    ", style=colour)
        figure.draw(signal.lines(True))
    if title:
        figure.title(escape(title))
    drawing = str(figure.build())
    figure.clear()
    return Text.from_ansi(drawing.rstrip("\n")).append("\n").append_text(legend)
