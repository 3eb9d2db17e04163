"""Charts for larger policies: matplotlib's bars with printed values, on the same grid of units as the handwritten ones.

original   1024 by 1024 pixels; a value has about 22 pixels of height, 11 in a zoom to its label
overview   128 by 128 pixels: values are unreadable
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.worlds.charts.drawing import NAMES, bar_top
from handaxe.worlds.plates.scene import COLOURS, SIDE, UNIT, Plate

__all__ = ["printed_canvas", "printed_overview"]

PIXELS, DPI = 1024, 100
SHOWN = 128
"""Pixels of an overview."""
FONT, NAME_FONT = 16, 32
"""Sizes of values and names, in points."""
LOCK = threading.Lock()
"""matplotlib's fonts are shared between threads."""


@functools.lru_cache(maxsize=16)
def printed_canvas(bars: tuple[Plate, ...]) -> Image:
    """Draw a chart, [1024, 1024] pixels.

    Raises:
        InputError: matplotlib is missing (extra [charts]).
    """
    figure_of, canvas_of = _load()
    with LOCK:
        figure = figure_of(figsize=(PIXELS / DPI, PIXELS / DPI), dpi=DPI)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, SIDE), ylim=(SIDE, 0))
        axes.set_axis_off()
        for number, bar in enumerate(bars):
            top, middle = bar_top(int(bar.number)) / UNIT, bar.left + 1
            colour = [part / 255 for part in COLOURS[bar.colour]]
            axes.bar(middle, SIDE - top, width=1.8, bottom=top, color=colour)
            axes.text(middle, bar.top + 1, bar.number, fontsize=FONT, ha="center", va="center")
            axes.text(middle, top + 0.3, NAMES[number], fontsize=NAME_FONT, ha="center", va="center")
        drawn = canvas_of(figure)
        drawn.draw()
        return Image.of(np.asarray(drawn.buffer_rgba())[..., :3].copy())


def printed_overview(bars: tuple[Plate, ...]) -> Image:
    """Shrink a chart to [128, 128] pixels."""
    return printed_canvas(bars).resized(SHOWN)


def _load() -> tuple[Any, Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(
            'charts in print are drawn by matplotlib, which is missing: pip install "handaxe[charts]"'
        ) from error
    return Figure, FigureCanvasAgg
