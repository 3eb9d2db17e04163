"""Drawing language: short programs that are parsed, never executed, and painted with Pillow.

    program     statements, separated by ";" or line breaks; at most 16, and 400 characters
    statement   COLOUR [SHAPE] X Y      draw an object; a square without SHAPE
                clear X Y               remove objects
                move X Y X2 Y2          move the object at X Y
                dye X Y COLOUR          change the colour of the object at X Y

A canvas has 8 by 8 units. An object covers 2 by 2 units; X Y is the left upper unit, with X and Y from 0 to 6. A new or
moved object removes every object below. Without loops, variables and files a program ends after its statements, and a
drawing has at most 16 objects.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError, Retry
from handaxe.core.image_decoding import import_pillow
from handaxe.core.images import Image
from handaxe.worlds.plates.scene import COLOURS

__all__ = [
    "BRUSHES",
    "CELLS",
    "COLOURS",
    "Item",
    "Items",
    "SHAPES",
    "SIDE",
    "Statement",
    "draw_program",
    "paint_items",
    "parse_program",
]

SIDE = 8
"""Units of a side of the canvas."""
SPAN = 2
"""Units of a side of an object."""
CELLS = tuple((x, y) for y in range(0, SIDE, SPAN) for x in range(0, SIDE, SPAN))
"""Places without overlaps, in reading order."""
FINE = 256
"""Pixels of a side on which objects are painted, before the mean of each block."""
BACKGROUND = (245, 245, 245)
STATEMENTS = 16
CHARACTERS = 400
KEPT = 4096
"""Drawings that stay in memory, of 3 kB each at 32 by 32 pixels."""
ROUNDING = 0.5
"""Added before the conversion to whole numbers, which cuts."""

Box = tuple[float, float, float, float]


def _triangle(left: float, top: float, right: float, bottom: float) -> Sequence[tuple[float, float]]:
    return ((left, bottom), ((left + right) / 2, top), (right, bottom))


BRUSHES: Mapping[str, Callable[..., None]] = {
    "square": lambda pen, box, colour: pen.rectangle(box, fill=colour),
    "disc": lambda pen, box, colour: pen.ellipse(box, fill=colour),
    "triangle": lambda pen, box, colour: pen.polygon(_triangle(*box), fill=colour),
    "ring": lambda pen, box, colour: pen.ellipse(box, outline=colour, width=FINE // SIDE // 2),
}
"""Shape -> (Pillow's ImageDraw, box in pixels, colour) -> None."""
SHAPES = tuple(BRUSHES)


class Item(NamedTuple):
    """An object of a drawing; left and top in units."""

    colour: str
    shape: str
    left: int
    top: int


Items = tuple[Item, ...]
"""A drawing, in the order of drawing."""


class Statement(NamedTuple):
    """A statement.

    change   drawing -> drawing
    painted  place of the object that the statement draws or dyes, or None
    draws    True for a new object
    """

    change: Callable[[Items], Items]
    painted: tuple[int, int] | None = None
    draws: bool = False


def parse_program(program: str) -> list[Statement]:
    """Parse a program to its statements.

    Raises:
        Retry: the program is empty or beyond the limits, or a statement is no sentence of the language; the message
            has the statement and what to write.

    Example:
        draw_program("red disc 2 4; dye 2 4 blue", ()) -> (Item("blue", "disc", 2, 4),)
    """
    if len(program) > CHARACTERS:
        raise Retry(f"the program has {len(program)} characters: write at most {CHARACTERS}")
    statements = [text.strip() for text in re.split(r"[;\n]", program) if text.strip()]
    if not 1 <= len(statements) <= STATEMENTS:
        raise Retry(f"the program has {len(statements)} statements: write 1 to {STATEMENTS}, separated by ;")
    return [_statement(text) for text in statements]


def draw_program(program: str, items: Items) -> Items:
    """Carry out a program on a drawing.

    Raises:
        Retry: see `parse_program`; or there is no object where one is to be moved or dyed.
    """
    for statement in parse_program(program):
        items = statement.change(items)
    return items


@functools.lru_cache(maxsize=KEPT)
def paint_items(items: Items, shown: int = 32) -> Image:
    """Paint a drawing, [shown, shown] pixels: each the mean of a block of a canvas of 256 by 256.

    Args:
        items: objects; a later one lies over an earlier one.
        shown: 32, 64, 128 or 256.

    Raises:
        InputError: another size; Pillow is missing (extra [images]).
    """
    if shown not in (32, 64, 128, 256):
        raise InputError(f"a drawing of {shown} pixels cannot be painted; give 32, 64, 128 or 256")
    import_pillow()
    from PIL import Image as Pillow
    from PIL import ImageDraw

    sheet = Pillow.new("RGB", (FINE, FINE), BACKGROUND)
    pen, unit = ImageDraw.Draw(sheet), FINE // SIDE
    for item in items:
        left, top = item.left * unit, item.top * unit
        box = (left, top, left + SPAN * unit - 1, top + SPAN * unit - 1)
        BRUSHES[item.shape](pen, box, COLOURS[item.colour])
    block = FINE // shown
    fine = np.asarray(sheet, np.float32).reshape(shown, block, shown, block, 3)
    return Image.of((fine.mean((1, 3)) + ROUNDING).astype(np.uint8))


def _statement(text: str) -> Statement:
    match text.split():
        case [colour, x, y] if colour in COLOURS:
            return _put_statement(Item(colour, SHAPES[0], *_place(x, y, text)))
        case [colour, shape, x, y] if colour in COLOURS and shape in SHAPES:
            return _put_statement(Item(colour, shape, *_place(x, y, text)))
        case ["clear", x, y]:
            return Statement(functools.partial(_clear, _place(x, y, text)))
        case ["move", x, y, x2, y2]:
            return Statement(functools.partial(_move, _place(x, y, text), _place(x2, y2, text)))
        case ["dye", x, y, colour] if colour in COLOURS:
            place = _place(x, y, text)
            return Statement(functools.partial(_dye, place, colour), place)
    raise Retry(
        f"{text[:40]!r} is no statement: write COLOUR SHAPE X Y, clear X Y, move X Y X2 Y2 or dye X Y COLOUR; colours "
        f"are {', '.join(COLOURS)}, shapes {', '.join(SHAPES)}"
    )


def _place(x: str, y: str, text: str) -> tuple[int, int]:
    numbers = [int(one) for one in (x, y) if one.isascii() and one.isdigit() and len(one) == 1]
    if len(numbers) < 2 or max(numbers) > SIDE - SPAN:
        raise Retry(f"{text[:40]!r} has the place {x[:8]} {y[:8]}: give two numbers from 0 to {SIDE - SPAN}")
    return numbers[0], numbers[1]


def _put_statement(item: Item) -> Statement:
    return Statement(functools.partial(_put, item), (item.left, item.top), draws=True)


def _put(item: Item, items: Items) -> Items:
    return (*_clear((item.left, item.top), items), item)


def _clear(place: tuple[int, int], items: Items) -> Items:
    left, top = place
    return tuple(one for one in items if abs(one.left - left) >= SPAN or abs(one.top - top) >= SPAN)


def _move(source: tuple[int, int], target: tuple[int, int], items: Items) -> Items:
    item = _find(source, items)
    others = tuple(one for one in items if one != item)
    return _put(item._replace(left=target[0], top=target[1]), others)


def _dye(place: tuple[int, int], colour: str, items: Items) -> Items:
    item = _find(place, items)
    return tuple(one._replace(colour=colour) if one == item else one for one in items)


def _find(place: tuple[int, int], items: Iterable[Item]) -> Item:
    found = [one for one in items if (one.left, one.top) == place]
    if not found:
        raise Retry(f"there is no object at {place[0]} {place[1]}: name the left upper unit of one")
    return found[0]
