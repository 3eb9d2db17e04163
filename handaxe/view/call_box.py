"""Part of an image that a tool cut out, from the call's arguments and from the pixels of both images.

A box is four numbers of the arguments, in pixels, in thousandths, in hundredths or in another unit of the tool. The
unit is the one in which the box of the shown image looks like the reply; without such a unit there is no box.

Example:
    {"box": [0, 0, 500, 500]} for an image of 640x480 and a reply of 320x240 -> (0.0, 0.0, 0.5, 0.5): thousandths
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image

__all__ = ["CutBox", "cut_box"]

Box = tuple[float, float, float, float]
SCALES = (1000, 100, 1, 8, 16, 10, 4, 32)
"""Number of units of a side, after pixels."""
NUMBERS = ("image", "picture", "index", "number")
"""Arguments that name an image by its number, from 1."""
FOUR = re.compile(r"\s*\[?\s*" + r"[\s,]+".join([r"(-?\d+(?:\.\d+)?)"] * 4) + r"\s*\]?\s*")
CELLS = 8
"""Side of the grid on which two images are compared."""
ALIKE = 16.0
"""Mean difference of cells, of 255, up to which a part and a reply are the same."""
SEARCHED = 4


class CutBox(NamedTuple):
    """Image that was cut, and left, top, right, bottom as shares of its sides."""

    image: Image
    box: Box


def cut_box(arguments: Mapping[str, Any], shown: Sequence[Image], reply: Image) -> CutBox | None:
    """Find the part of a shown image that a reply is.

    Args:
        arguments: of the call.
        shown: images of the conversation before the call, in order.
        reply: image of the reply.

    Returns:
        The image and the box; None if the arguments hold no box, or no image has such a part.
    """
    box = next(_boxes(arguments), None)
    if box is None or not shown:
        return None
    number = next((arguments[name] for name in NUMBERS if isinstance(arguments.get(name), int)), 0)
    named = shown[number - 1 : number] if number > 0 else ()
    best: tuple[float, CutBox] | None = None
    for image in named or (shown[0], *reversed(shown[-SEARCHED:])):
        found = _match(box, image, reply)
        if found is not None and (best is None or found[0] < best[0]):
            best = found[0], CutBox(image, found[1])
    return None if best is None else best[1]


def _boxes(arguments: Mapping[str, Any]) -> Iterator[Box]:
    """Values of four numbers, of which the third exceeds the first and the fourth the second."""
    for value in arguments.values():
        if isinstance(value, str):
            found = FOUR.fullmatch(value)
            value = [float(one) for one in found.groups()] if found else None
        if not isinstance(value, list | tuple) or len(value) != 4:
            continue
        if all(isinstance(one, int | float) and not isinstance(one, bool) for one in value):
            left, top, right, bottom = map(float, value)
            if 0 <= left < right and 0 <= top < bottom:
                yield left, top, right, bottom


@lru_cache(maxsize=4096)
def _match(box: Box, image: Image, reply: Image) -> tuple[float, Box] | None:
    """Least difference over the units, and the box in shares of the sides; None if no unit fits."""
    try:
        wanted, pixels = _cells(reply.pixels), image.pixels
    except InputError:  # the bytes are missing or damaged; the page says so where the image would stand
        return None
    height, width = pixels.shape[:2]
    found = list[tuple[float, Box]]()
    for across, down in ((width, height), *((units, units) for units in SCALES)):
        left, right = box[0] / across, box[2] / across
        top, bottom = box[1] / down, box[3] / down
        if right > 1 or bottom > 1:
            continue
        rows = slice(round(top * height), max(round(bottom * height), round(top * height) + 1))
        columns = slice(round(left * width), max(round(right * width), round(left * width) + 1))
        part = pixels[rows, columns]
        if part.size:
            found.append((float(np.abs(_cells(part) - wanted).mean()), (left, top, right, bottom)))
    least = min(found, default=None)
    return least if least is not None and least[0] <= ALIKE else None


def _cells(pixels: np.ndarray) -> np.ndarray:
    """[CELLS, CELLS, 3] mean colours of a grid over an image [H, W, 3]."""
    rows, columns = (_places(side) for side in pixels.shape[:2])
    even = pixels[rows][:, columns].astype(np.float32)
    return even.reshape(CELLS, len(rows) // CELLS, CELLS, len(columns) // CELLS, 3).mean((1, 3))


def _places(side: int) -> np.ndarray:
    """Evenly spread places of a side, as many as a multiple of CELLS."""
    count = CELLS * -(-side // CELLS)
    return np.arange(count) * side // count
