"""Drawn screens of buttons, fields and arrows; exactly one widget is red.

A screen of 32 by 32 pixels is a grid of 8 by 8 units of 4 pixels. A widget covers whole units, and no unit has two
widgets. A button is filled, a field has a border and is white inside, an arrow is a triangle that points to one of four
sides.

A digest of all widgets puts a screen into one split, about a fifth into test.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import Task, Trajectory
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.plates.scene import COLOURS
from handaxe.worlds.world import Split

__all__ = [
    "Box",
    "COLOURS",
    "DIRECTIONS",
    "HEIGHTS",
    "KINDS",
    "Kind",
    "LARGEST",
    "MAX_WIDGETS",
    "SIDE",
    "SIDES",
    "SMALLEST",
    "UNIT",
    "WIDTHS",
    "Widget",
    "cell_box",
    "difficulty",
    "draw_screen",
    "draw_widgets",
    "gold_box",
    "predicted_box",
]

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in units; right and bottom are exclusive."""
Kind = Literal["button", "field", "arrow"]
KINDS: tuple[Kind, ...] = ("button", "field", "arrow")
DIRECTIONS = ("up", "down", "left", "right")
SIDE = 8
"""Units of a side of the screen."""
SIDES = (float(SIDE), float(SIDE))
UNIT = 4
"""Pixels of a unit."""
WIDTHS = (2, 4)
"""Smallest and largest width of a widget, in units."""
HEIGHTS = (1, 3)
"""Smallest and largest height of a widget; arrows have 2 or more, in units."""
SMALLEST, LARGEST = WIDTHS[0] * HEIGHTS[0], WIDTHS[1] * HEIGHTS[1]
"""Areas of the smallest and the largest possible widget."""
MAX_WIDGETS = 4
"""More widgets do not always fit."""
BACKGROUND = 245
PAPER = 255
"""Grey value inside a field."""
TEST_SHARE = 5
"""One screen of this number is for tests."""
TRIES = 40
"""Attempts to place one widget before all are drawn again."""
LONGEST = 24
"""Character limit of an answer that is parsed as a box."""


class Widget(NamedTuple):
    """Widget of a screen.

    kind       a name of KINDS
    colour     a key of COLOURS
    box        in units
    direction  of an arrow, a name of DIRECTIONS; "" for other kinds
    """

    kind: Kind
    colour: str
    box: Box
    direction: str = ""

    def to_text(self) -> str:
        """Describe the widget as a line.

        Example:
            Widget("arrow", "red", (1, 2, 3, 5), "up") -> "red arrow up 1 2 3 5"
        """
        return " ".join([*filter(None, (self.colour, self.kind, self.direction)), *map(str, self.box)])


def draw_widgets(rng: random.Random, split: Split, *, count: int, kinds: Sequence[Kind] = KINDS) -> list[Widget]:
    """Draw the widgets of a screen: a red one first, and others of other colours.

    Args:
        rng: source of random numbers.
        split: train or test.
        count: number of widgets, 1 to 4.
        kinds: kinds of the red widget.

    Raises:
        InputError: `count` out of range, or no or unknown kinds.
    """
    if not 1 <= count <= MAX_WIDGETS or not kinds or set(kinds) - set(KINDS):
        raise InputError(
            f"a screen has 1 to {MAX_WIDGETS} widgets and kinds of {', '.join(KINDS)}, not {count} and {list(kinds)}"
        )
    while True:
        names = ["red", *rng.sample([name for name in COLOURS if name != "red"], count - 1)]
        drawn = [rng.choice(tuple(kinds)), *rng.choices(KINDS, k=count - 1)]
        placed: list[Widget] = []
        for _ in range(TRIES * count):
            if len(placed) == count:
                break
            one = _draw(rng, drawn[len(placed)], names[len(placed)])
            if not any(_touch(one.box, other.box) for other in placed):
                placed.append(one)
        if len(placed) == count and _split(placed) == split:
            return placed


@functools.lru_cache(maxsize=4096)
def draw_screen(widgets: tuple[Widget, ...], *, unit: int = UNIT) -> Image:
    """Draw a screen, [8 unit, 8 unit] pixels.

    Args:
        widgets: the widgets; their order does not matter.
        unit: pixels of a unit, 4 or more.
    """
    pixels = np.full((SIDE * unit, SIDE * unit, 3), BACKGROUND, np.uint8)
    for widget in widgets:
        left, top, right, bottom = (unit * side for side in widget.box)
        part = pixels[top:bottom, left:right]
        part[_ink(widget, *part.shape[:2])] = COLOURS[widget.colour]
        if widget.kind == "field":
            edge = unit // 4
            part[edge:-edge, edge:-edge] = PAPER
    return Image.of(pixels)


def difficulty(task: Task) -> float:
    """Compute a task's weight from the size of its target; smaller targets weigh more.

        w = 0.5 + (1 / s - 1 / s_max) / (1 / s_min - 1 / s_max)          s: area of the target, as a share of the screen

    s_min and s_max are the areas of this world's smallest and largest possible widget; in the paper, of the data set.

    Example:
        a target of 2 by 1 weighs 1.5, one of 4 by 3 0.5, and one of 2 by 2 0.9

    Paper: arXiv:2505.15810 (GUI-G1), appendix C.3.
    Unconfirmed: that the size of a target is its area.
    """
    left, top, right, bottom = gold_box(task)
    small, large = 1 / SMALLEST, 1 / LARGEST
    return 0.5 + (1 / ((right - left) * (bottom - top)) - large) / (small - large)


def gold_box(task: Task) -> Box:
    """Return the target box of a task, in units."""
    left, top, right, bottom = task.metadata["box"]
    return left, top, right, bottom


def cell_box(task: Task) -> tuple[float, float, float, float]:
    """Return the target box of a task in coordinates of clicks: a click on unit (x, y) is a point in its middle.

    Example:
        units 1 and 2 in both dimensions, (1, 1, 3, 3) -> (0.5, 0.5, 2.5, 2.5)
    """
    left, top, right, bottom = gold_box(task)
    return left - 0.5, top - 0.5, right - 0.5, bottom - 0.5


def predicted_box(trajectory: Trajectory) -> tuple[float, ...] | None:
    """Parse an answer as four whole numbers. Return None for any other answer.

    Example:
        "1 2 5 4" -> (1.0, 2.0, 5.0, 4.0);  "1 2 5" -> None
    """
    text = trajectory.final_text.strip()
    words = text.split() if len(text) <= LONGEST else []
    whole = all(word.isascii() and word.isdigit() for word in words)
    return tuple(map(float, words)) if whole and len(words) == 4 else None


def _draw(rng: random.Random, kind: Kind, colour: str) -> Widget:
    width = rng.randint(*WIDTHS)
    height = rng.randint(2 if kind == "arrow" else HEIGHTS[0], HEIGHTS[1])
    left, top = rng.randint(0, SIDE - width), rng.randint(0, SIDE - height)
    direction = rng.choice(DIRECTIONS) if kind == "arrow" else ""
    return Widget(kind, colour, (left, top, left + width, top + height), direction)


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _split(widgets: Sequence[Widget]) -> Split:
    """Split by content: equal screens have equal digests in any order of their widgets."""
    lines = "\n".join(sorted(widget.to_text() for widget in widgets))
    return content_split("screen", lines, one_in=TEST_SHARE)


def _ink(widget: Widget, height: int, width: int) -> np.ndarray:
    """[H, W] bool: pixels of the widget's colour, the inside of a field included."""
    if widget.kind != "arrow":
        return np.ones((height, width), bool)
    y, x = np.mgrid[0:height, 0:width]
    down, across = (y + 0.5) / height, (x + 0.5) / width
    along, aside = {
        "up": (down, across),
        "down": (1 - down, across),
        "left": (across, down),
        "right": (1 - across, down),
    }[widget.direction]
    return np.asarray(abs(aside - 0.5) <= along / 2)
