"""Scenes of coloured plates with two-digit numbers in real handwriting.

A canvas of 256 by 256 pixels is a grid of 8 by 8 units. A plate covers 2 by 2 units and has two digits of 24 by 24
pixels. The overview has the mean colour of each unit, enlarged to 32 by 32 pixels: a plate has four values, and its
number is unreadable. (At 32 by 32 true pixels a digit has three pixels a side, enough for some of the numbers.)

The handwriting is scikit-learn's: 1,797 digits of 8 by 8 pixels by 43 writers. A digest of its pixels puts a digit into
one split, about a fifth into test.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import import_pillow
from handaxe.core.images import Image
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Split

__all__ = ["COLOURS", "PLATES", "Plate", "SHOWN", "SIDE", "UNIT", "canvas", "draw_plates", "handwriting", "overview"]

SIDE = 8
"""Units of a side of the canvas."""
UNIT = 32
"""Pixels of a unit."""
SHOWN = 32
"""Pixels of the longest side of an overview and of a zoom."""
PLATES = 5
"""Plates of a scene."""
CELLS = SIDE // 2
"""Cells of a side; a plate covers one."""
INK = 24
"""Pixels of a side of a digit."""
TOP, LEFTS = 20, (6, 34)
"""Mean position of the two digits on a plate, in pixels."""
SHIFT_Y, SHIFT_X = 6, 2
"""Largest deviation of a digit from its mean position, in pixels."""
BACKGROUND = 245
ROUNDING = np.float32(0.5)
"""Added before the conversion to whole numbers, which cuts."""
DARKNESS = 0.95
"""Share of the colour of a plate that full ink removes."""
COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (230, 60, 50),
    "blue": (70, 110, 240),
    "cyan": (70, 205, 215),
    "green": (60, 190, 70),
    "violet": (170, 80, 210),
    "yellow": (240, 215, 50),
}
TEST_SHARE = 5
"""One digit of this number is for tests."""
KEPT = 512
"""Canvases that stay in memory, of about 0.2 MB each."""


class Plate(NamedTuple):
    """A plate of a scene.

    colour        a key of COLOURS
    left, top     of the plate, in units
    digits        indices in scikit-learn's data set, of the first and second digit
    shifts        y and x of the first digit, y and x of the second, in pixels from the mean position
    """

    colour: str
    left: int
    top: int
    digits: tuple[int, int]
    shifts: tuple[int, int, int, int]

    @property
    def number(self) -> str:
        """The two digits."""
        return "".join(str(_digits().labels[index]) for index in self.digits)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom, in units."""
        return (self.left, self.top, self.left + 2, self.top + 2)


def draw_plates(rng: random.Random, split: Split) -> list[Plate]:
    """Draw the plates of a scene: a red one first, and four of other colours, each in its own cell of the grid.

    Raises:
        InputError: scikit-learn is missing (extra [plates]).
    """
    names = ["red", *rng.sample([name for name in COLOURS if name != "red"], PLATES - 1)]
    cells = rng.sample([(2 * x, 2 * y) for y in range(CELLS) for x in range(CELLS)], PLATES)
    return [_draw_plate(rng, split, name, cell) for name, cell in zip(names, cells, strict=True)]


@functools.lru_cache(maxsize=KEPT)
def canvas(plates: tuple[Plate, ...]) -> Image:
    """Draw a scene, [256, 256] pixels."""
    pixels = np.full((SIDE * UNIT, SIDE * UNIT, 3), BACKGROUND, np.uint8)
    for plate in plates:
        _lay(pixels, plate, _light(plate))
    return Image.of(pixels)


def overview(plates: Sequence[Plate]) -> Image:
    """Draw the overview of a scene, [32, 32] pixels: the mean of each unit of the canvas, up to rounding.

    The canvas itself is not drawn, so that thousands of tasks take seconds.
    """
    pixels = np.full((SIDE, SIDE, 3), BACKGROUND, np.uint8)
    for plate in plates:
        _lay(pixels, plate, _light(plate).reshape(2, UNIT, 2, UNIT).mean((1, 3)))
    return Image.of(pixels.repeat(SHOWN // SIDE, 0).repeat(SHOWN // SIDE, 1))


def handwriting(split: Split) -> Mapping[int, Sequence[int]]:
    """Return the indices of a split's handwriting in scikit-learn's data set, by digit.

    Raises:
        InputError: scikit-learn is missing (extra [plates]).
    """
    return _digits().splits[split]


def _light(plate: Plate) -> np.ndarray:
    """Share of the colour of a plate at each pixel, [64, 64] float32."""
    light = np.ones((2 * UNIT, 2 * UNIT), np.float32)
    for number, index in enumerate(plate.digits):
        top, left = TOP + plate.shifts[2 * number], LEFTS[number] + plate.shifts[2 * number + 1]
        light[top : top + INK, left : left + INK] *= _digits().light[index]
    return light


def _lay(pixels: np.ndarray, plate: Plate, light: np.ndarray) -> None:
    """Write a plate of light [S, S] into a scene of [4 S, 4 S, 3]."""
    side = len(light)
    y, x = plate.top * side // 2, plate.left * side // 2
    pixels[y : y + side, x : x + side] = light[:, :, None] * np.array(COLOURS[plate.colour], np.float32) + ROUNDING


class _Digits(NamedTuple):
    """labels [N]; light [N] of [24, 24] float32, the share of a plate's colour that remains; digit -> indices by
    split.
    """

    labels: Sequence[int]
    light: Sequence[np.ndarray]
    splits: Mapping[str, Mapping[int, Sequence[int]]]


def _draw_plate(rng: random.Random, split: Split, colour: str, cell: tuple[int, int]) -> Plate:
    digits = [rng.choice(handwriting(split)[rng.randrange(10)]) for _ in range(2)]
    shifts = [rng.randint(-SHIFT_Y, SHIFT_Y), rng.randint(-SHIFT_X, SHIFT_X)]
    shifts += [rng.randint(-SHIFT_Y, SHIFT_Y), rng.randint(-SHIFT_X, SHIFT_X)]
    return Plate(colour, *cell, (digits[0], digits[1]), (shifts[0], shifts[1], shifts[2], shifts[3]))


@functools.cache
def _digits() -> _Digits:
    loaded = _load()
    splits: dict[str, dict[int, list[int]]] = {name: {digit: [] for digit in range(10)} for name in ("train", "test")}
    labels, light = [int(label) for label in loaded.target], []
    for index, image in enumerate(loaded.images):
        ink = np.kron(image / 16, np.ones((INK // 8, INK // 8)))
        light.append((1 - DARKNESS * ink).astype(np.float32))
        split = content_split("plates", image.tobytes().hex(), one_in=TEST_SHARE)
        splits[split][labels[index]].append(index)
    return _Digits(labels, light, splits)


def _load() -> Any:
    import_pillow()  # a zoom needs it, in the middle of a rollout
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise InputError(
            'the world plates draws handwriting of scikit-learn, which is missing: pip install "handaxe[plates]"'
        ) from error
    return load_digits()
