"""Scenes of tissue with stained structures whose masks are known.

The background is a part of a medical image of scikit-image: stained tissue (ihc), a retina, a cell, or
microaneurysms. Training has parts of the left half of each image, tests of the right half. On it lie drawn structures,
each in a cell of a grid of 4 by 4: a solid red structure, in some scenes a red ring, and two solid structures of other
stains. A ring has no mask and is no structure: a vessel that looks in the overview as the red structure does.

The canvas has 256 by 256 pixels, 8 by 8 units. The overview has the darkest pixel of each unit (a minimum intensity
projection), enlarged to 32 by 32 pixels: it shows the place of each stain, and no shape.

Kept: scenes of the world `slides`.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import import_pillow
from handaxe.core.images import Image
from handaxe.tools.segment import ImageSegment, otsu_segment
from handaxe.worlds.world import Split

__all__ = [
    "SHOWN",
    "SIDE",
    "Slide",
    "Structure",
    "UNIT",
    "dice",
    "draw_slide",
    "segment_slide",
    "slide_image",
    "slide_overview",
]

SIDE = 8
"""Units of a side of the canvas."""
UNIT = 32
"""Pixels of a unit."""
SHOWN = 32
"""Pixels of the longest side of an slide_overview, a zoom and a mask."""
CELLS = SIDE // 2
"""Cells of a side; a structure lies in one."""
LENGTH = SIDE * UNIT
STAINS: Mapping[str, tuple[int, int, int]] = {
    "red": (161, 42, 35),
    "blue": (49, 77, 168),
    "violet": (119, 56, 147),
}
PARTS: Mapping[str, int] = {"ihc": 120, "retina": 250, "cell": 180, "microaneurysms": 48}
"""Image of scikit-image -> pixels of a side of the part that becomes a background."""
RETINA = (300, 1111)
"""Rows and columns of the retina without the black corners of its image."""
WASH = 0.3
"""Share of a background's colour that remains; the rest is white."""
AXES = (15, 23)
"""Least and largest half-axis of a structure, in pixels."""
SHIFT = 7
"""Largest deviation of a centre from the middle of its cell, in pixels."""
HOLLOW = 0.6
"""Half-axes of a ring's hole, in shares of its own."""
STRENGTH = 0.95
"""Share of a stain inside a structure; the rest is the background."""
SHARPNESS = 6.0
"""Slope of the stain at an edge, per share of the half-axes."""
LEAST_DICE = 0.9
"""Least Dice of the mask that the tool makes of a scene's red structure."""
KEPT = 512
"""Canvases that stay in memory, of about 0.2 MB each."""


class Structure(NamedTuple):
    """An ellipse of a scene.

    stain         a key of STAINS
    left, top     of its cell, in units
    x, y          of its centre, in pixels
    wide, high    half-axes in pixels
    solid         False for a ring
    """

    stain: str
    left: int
    top: int
    x: int
    y: int
    wide: int
    high: int
    solid: bool

    @property
    def cell(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of the cell, in units."""
        return (self.left, self.top, self.left + 2, self.top + 2)

    @property
    def depth(self) -> np.ndarray:
        """Distance from the edge in shares of the half-axes, [64, 64] pixels of the cell; above 0 inside."""
        side = 2 * UNIT
        ys, xs = np.ogrid[:side, :side]
        x, y = self.x - UNIT * self.left, self.y - UNIT * self.top
        distance = np.hypot((xs - x) / np.float32(self.wide), (ys - y) / np.float32(self.high))
        return 1 - distance if self.solid else np.minimum(1 - distance, distance - HOLLOW)

    @property
    def mask(self) -> np.ndarray:
        """Pixels of the structure, [256, 256] bool."""
        found = np.zeros((LENGTH, LENGTH), bool)
        found[self.pixels] = self.depth >= 0
        return found

    @property
    def pixels(self) -> tuple[slice, slice]:
        """Rows and columns of the cell, in pixels."""
        y, x = UNIT * self.top, UNIT * self.left
        return slice(y, y + 2 * UNIT), slice(x, x + 2 * UNIT)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom in pixels; right and bottom are exclusive."""
        return (self.x - self.wide, self.y - self.high, self.x + self.wide + 1, self.y + self.high + 1)


class Slide(NamedTuple):
    """A scene.

    source      a key of PARTS
    left, top   of the part in that image, in pixels
    structures  the red one first; a red ring, if there is one, second
    """

    source: str
    left: int
    top: int
    structures: tuple[Structure, ...]


def draw_slide(rng: random.Random, split: Split, *, ring: bool) -> Slide:
    """Draw a scene in which Otsu's threshold finds the red structure in its cell: a mask with a Dice of 0.9 or more.

    Args:
        rng: source of the draws.
        split: of the background: parts of the left or the right half of an image.
        ring: the scene has a red ring.

    Raises:
        InputError: scikit-image is missing (extra [vision]).
    """
    while True:
        slide = _draw(rng, split, ring)
        red = slide.structures[0]
        found = segment_slide(slide, red.cell)
        if found is not None and dice(red.mask, found.mask) >= LEAST_DICE:
            return slide


def dice(left: np.ndarray, right: np.ndarray) -> float:
    """Dice of two masks, [H, W] bool each: twice the common pixels over the pixels of both; 0 for two empty ones."""
    total = int(left.sum()) + int(right.sum())
    return 2 * int((left & right).sum()) / total if total else 0.0


@functools.lru_cache(maxsize=KEPT)
def slide_image(slide: Slide) -> Image:
    """Draw a scene, [256, 256] pixels."""
    part = PARTS[slide.source]
    pixels = _source(slide.source)[slide.top : slide.top + part, slide.left : slide.left + part]
    pillow = import_pillow()
    resized = pillow.fromarray(np.ascontiguousarray(pixels)).resize((LENGTH, LENGTH), pillow.Resampling.BILINEAR)
    canvas = 255 - WASH * (255 - np.asarray(resized, np.float32))
    for one in slide.structures:
        share = STRENGTH * np.clip(SHARPNESS * one.depth + 0.5, 0, 1)[:, :, None]
        canvas[one.pixels] += share * (np.array(STAINS[one.stain], np.float32) - canvas[one.pixels])
    return Image.of(canvas.round().astype(np.uint8))


def slide_overview(slide: Slide) -> Image:
    """Draw the overview of a scene, [32, 32] pixels: the darkest pixel of each unit of the canvas."""
    units = slide_image(slide).pixels.reshape(SIDE, UNIT, SIDE, UNIT, 3).swapaxes(1, 2).reshape(SIDE, SIDE, -1, 3)
    darkest = units.sum(3, dtype=np.int64).argmin(2)
    pixels = np.take_along_axis(units, darkest[:, :, None, None], 2)[:, :, 0]
    return Image.of(pixels.repeat(SHOWN // SIDE, 0).repeat(SHOWN // SIDE, 1))


@functools.lru_cache(maxsize=KEPT)
def segment_slide(slide: Slide, box: tuple[int, int, int, int]) -> ImageSegment | None:
    """Segment the largest structure inside a box in units, by Otsu's threshold; None for a box of one brightness.

    Raises:
        InputError: scikit-image is missing (extra [vision]).
    """
    left, top, right, bottom = (UNIT * side for side in box)
    return otsu_segment(slide_image(slide).pixels, (left, top, right, bottom))


def _draw(rng: random.Random, split: Split, ring: bool) -> Slide:
    source = rng.choice(list(PARTS))
    height, width = _source(source).shape[:2]
    part = PARTS[source]
    half = width // 2
    left = rng.randint(0, half - part) if split == "train" else rng.randint(half, width - part)
    top = rng.randint(0, height - part)
    cells = rng.sample([(2 * x, 2 * y) for y in range(CELLS) for x in range(CELLS)], 4)
    stains = ["red", "red", "blue", "violet"] if ring else ["red", "blue", "violet"]
    structures = [
        _draw_structure(rng, stain, cell, solid=not (ring and number == 1))
        for number, (stain, cell) in enumerate(zip(stains, cells))
    ]
    return Slide(source, left, top, tuple(structures))


def _draw_structure(rng: random.Random, stain: str, cell: tuple[int, int], *, solid: bool) -> Structure:
    x, y = (UNIT * side + UNIT + rng.randint(-SHIFT, SHIFT) for side in cell)
    wide, high = rng.randint(*AXES), rng.randint(*AXES)
    return Structure(stain, *cell, x, y, wide, high, solid)


@functools.cache
def _source(name: str) -> np.ndarray:
    """An image of scikit-image, [H, W, 3] uint8."""
    pixels = np.asarray(_loaders()[name]())
    if name == "retina":
        pixels = pixels[slice(*RETINA), slice(*RETINA)]
    return pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, axis=2)


def _loaders() -> Mapping[str, Callable[[], Any]]:
    import_pillow()  # a zoom needs it, in the middle of a rollout
    try:
        from skimage import data
    except ImportError as error:
        raise InputError(
            'the world slides has images of scikit-image, which is missing: pip install "handaxe[vision]"'
        ) from error
    return {
        "ihc": data.immunohistochemistry,
        "retina": data.retina,
        "cell": data.cell,
        "microaneurysms": data.microaneurysms,
    }
