"""Bar charts of two to four bars, with values in real handwriting.

A canvas of 256 by 256 pixels is a grid of 8 by 8 units. Bar k covers units 2k and 2k + 1 of the width; one bar is red.
Its top is at 192 - 1.92 value pixels from the upper edge, so that a bar of value 0 has 64 pixels. The label is a plate
of the world `plates` at the foot of the bar: two handwritten digits, 2 by 2 units.

    y_k = 192 - 1.92 value_k          top of the bar, in pixels
    u_k = ceil((y_k - 12) / 32)       first unit of the bar in the overview

The overview has one colour per unit, that of the bars at the pixel 12 from the unit's upper edge, without labels: it
shows heights to about 17 of 100, and no value.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence

import numpy as np

from handaxe.core.images import Image
from handaxe.worlds.charts.tables import draw_values
from handaxe.worlds.plates.scene import (
    BACKGROUND,
    COLOURS,
    SHIFT_X,
    SHIFT_Y,
    SHOWN,
    SIDE,
    UNIT,
    Plate,
    canvas,
    handwriting,
)
from handaxe.worlds.world import Split

__all__ = ["MAX_BARS", "MIN_BARS", "NAMES", "bar_box", "bar_top", "chart_canvas", "chart_overview", "draw_bars"]

MIN_BARS, MAX_BARS = 2, SIDE // 2
NAMES = "abcd"
"""Names of the bars, from the left."""
FOOT = 2 * UNIT
"""Pixels of a bar of value 0, which is as high as a label."""
LABEL = SIDE - 2
"""First unit of a label."""
SCALE = (SIDE * UNIT - FOOT) / 100
"""Pixels per 1 of a value."""
SAMPLED = 12
"""Pixel row of a unit that the overview shows."""


def draw_bars(rng: random.Random, split: Split, count: int) -> tuple[str, tuple[Plate, ...]]:
    """Draw the bars of a chart: a column's name, and one labelled bar per value, from the left.

    Raises:
        InputError: scikit-learn, Pillow or vega_datasets is missing (extras [plates] and [charts]).
    """
    name, values = draw_values(rng, split, count)
    colours = ["red", *rng.sample([name for name in COLOURS if name != "red"], count - 1)]
    rng.shuffle(colours)
    return name, tuple(_bar(rng, split, k, colours[k], value) for k, value in enumerate(values))


def bar_top(value: int) -> int:
    """Return the first pixel row of a bar.

    Example:
        value 50: 96
    """
    return round(SIDE * UNIT - FOOT - SCALE * value)


def bar_box(bar: Plate) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a bar in the overview, in units.

    Example:
        the first bar, of value 50: 0 3 2 8, since the bar begins at pixel 96
    """
    return (bar.left, math.ceil((bar_top(int(bar.number)) - SAMPLED) / UNIT), bar.left + 2, SIDE)


@functools.lru_cache(maxsize=256)
def chart_canvas(bars: tuple[Plate, ...]) -> Image:
    """Draw a chart, [256, 256] pixels."""
    pixels = canvas(bars).pixels.copy()
    for bar in bars:
        column = pixels[:, UNIT * bar.left : UNIT * (bar.left + 2)]
        column[bar_top(int(bar.number)) : UNIT * bar.top] = COLOURS[bar.colour]
    return Image.of(pixels)


def chart_overview(bars: Sequence[Plate]) -> Image:
    """Draw the overview of a chart, [32, 32] pixels, without drawing the canvas."""
    pixels = np.full((SIDE, SIDE, 3), BACKGROUND, np.uint8)
    for bar in bars:
        left, top, right, bottom = bar_box(bar)
        pixels[top:bottom, left:right] = COLOURS[bar.colour]
    return Image.of(pixels.repeat(SHOWN // SIDE, 0).repeat(SHOWN // SIDE, 1))


def _bar(rng: random.Random, split: Split, place: int, colour: str, value: int) -> Plate:
    digits = [rng.choice(handwriting(split)[int(digit)]) for digit in str(value)]
    shifts = [rng.randint(-most, most) for _ in digits for most in (SHIFT_Y, SHIFT_X)]
    return Plate(colour, 2 * place, LABEL, (digits[0], digits[1]), (shifts[0], shifts[1], shifts[2], shifts[3]))
