"""Draws a curve in the terminal."""

import math
from collections.abc import Mapping, Sequence

import plotext
from rich.text import Text

from handaxe.core.escape import escape

__all__ = ["curve"]

MARKERS = (("braille", "\u2812", "green"), ("dot", "\u2022", "magenta"), ("x", "x", "cyan"), ("+", "+", "yellow"))
"""What plotext calls it, what the legend shows, colour: told apart by shape as well as by colour."""


def curve(
    series: Mapping[str, Sequence[tuple[float, float]]], *, title: str = "", width: int = 76, height: int = 12
) -> Text:
    """Draw named series of (x, y) points over each other.

    Points that are not finite are left out, and so are series without a point.

    Args:
        series: name -> points; a name stands in the legend.
        title: the line above.
        width: columns.
        height: rows, title and axis included.

    Returns:
        The drawing; empty when there is no point at all.
    """
    finite = {name: [p for p in points if all(map(math.isfinite, p))] for name, points in series.items()}
    finite = {name: points for name, points in finite.items() if points}
    if not finite:
        return Text("")
    figure = plotext.figure  # the package has one figure, so it is left as clean as it was found
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
