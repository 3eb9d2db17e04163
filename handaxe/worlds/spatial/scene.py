"""Scenes with true depth: coloured marks on a photograph of a stereo pair.

The photograph is the left image of scikit-image's motorcycle pair (Middlebury 2014) with its true disparities and its
calibration. A scene is a part of 128 by 128 pixels, enlarged to 256 by 256 and washed out, with four marks, each of
which covers a cell of a grid of 4 by 4. Training has parts of the upper half of the photograph, tests of the lower
half.

    depth = baseline * focal / (disparity + offset)

Places are in units of 32 pixels of the scene, from 0 to 8; a cell has 2 by 2 units.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import import_pillow
from handaxe.core.images import Image
from handaxe.worlds.world import Split

__all__ = ["FOCAL", "MARKS", "SIDE", "SceneMark", "SceneView", "depth_at", "draw_view", "scene_overview", "view_image"]

SIDE = 8
"""Units of a side of a scene."""
UNIT = 32
"""Pixels of a unit."""
LENGTH = SIDE * UNIT
SHOWN = 32
"""Pixels of a side of the overview."""
PART = 128
"""Pixels of the photograph on a side of a scene."""
MARKS: Mapping[str, tuple[int, int, int]] = {
    "red": (161, 42, 35),
    "blue": (49, 77, 168),
    "green": (42, 133, 49),
    "violet": (119, 56, 147),
}
WASH = 0.3
"""Share of the photograph's colour that remains; the rest is white."""
PHOTO_FOCAL = 994.978
"""Focal length in pixels of the photograph."""
FOCAL = round(PHOTO_FOCAL * LENGTH / PART / UNIT)
"""Focal length in units of a scene, rounded from 62.2."""
BASELINE = 193.001
"""Distance of the two cameras, in mm."""
OFFSET = 31.086
"""Distance of the two principal points, in pixels of the photograph."""
PRINCIPAL_X = 311
"""Column of the principal point of the photograph, rounded from 311.193."""
STEP = PART // SIDE
"""Pixels of the photograph in a unit: the middle of the camera lies on a whole unit of each scene."""
KEPT = 512
"""Scenes that stay in memory, of about 0.2 MB each."""


class SceneMark(NamedTuple):
    """A mark: its colour (a key of MARKS), and the left and top of its cell in units."""

    colour: str
    left: int
    top: int

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom in units."""
        return (self.left, self.top, self.left + 2, self.top + 2)

    @property
    def centre(self) -> tuple[int, int]:
        """Column and row of the middle, in units."""
        return (self.left + 1, self.top + 1)


class SceneView(NamedTuple):
    """A scene.

    middle  column of the camera's middle in units of the scene; it may lie outside
    top     of the part in the photograph, in pixels
    marks   the red one first
    """

    middle: int
    top: int
    marks: tuple[SceneMark, ...]

    @property
    def left(self) -> int:
        """Left of the part in the photograph, in pixels."""
        return PRINCIPAL_X - STEP * self.middle


def draw_view(rng: random.Random, split: Split) -> SceneView:
    """Draw a scene in which the depth at the centre of each mark is known.

    Args:
        rng: source of the draws.
        split: the part lies in the upper or the lower half of the photograph.

    Raises:
        InputError: scikit-image is missing (extra [vision]).
    """
    height, width = _pair().pixels.shape[:2]
    half = height // 2
    while True:
        middle = rng.randint(-((width - PART - PRINCIPAL_X) // STEP), PRINCIPAL_X // STEP)
        top = rng.randint(0, half - PART) if split == "train" else rng.randint(half, height - PART)
        cells = rng.sample([(x, y) for y in range(0, SIDE, 2) for x in range(0, SIDE, 2)], len(MARKS))
        view = SceneView(middle, top, tuple(SceneMark(colour, *cell) for colour, cell in zip(MARKS, cells)))
        if all(depth_at(view, *mark.centre) is not None for mark in view.marks):
            return view


@functools.lru_cache(maxsize=KEPT)
def view_image(view: SceneView) -> Image:
    """Draw a scene, [256, 256] pixels."""
    pixels = _pair().pixels[view.top : view.top + PART, view.left : view.left + PART].astype(np.float32)
    canvas = (255 - WASH * (255 - pixels)).repeat(LENGTH // PART, 0).repeat(LENGTH // PART, 1)
    for mark in view.marks:
        left, top, right, bottom = (UNIT * side for side in mark.box)
        canvas[top:bottom, left:right] = MARKS[mark.colour]
    return Image.of(canvas.round().astype(np.uint8))


def scene_overview(view: SceneView) -> Image:
    """Draw the overview of a scene, [32, 32] pixels: the mean colour of each unit."""
    pixels = view_image(view).resized(SIDE).pixels
    return Image.of(pixels.repeat(SHOWN // SIDE, 0).repeat(SHOWN // SIDE, 1))


def depth_at(view: SceneView, x: float, y: float) -> int | None:
    """Depth of a point of a scene in cm, rounded, or None where the photograph has no true disparity.

    Args:
        view: a scene.
        x: column in units, 0 <= x < 8.
        y: row in units, likewise.

    Example:
        a disparity of 30.0 pixels: 193.001 * 994.978 / (30 + 31.086) = 3143.6 mm, so 314
    """
    disparity = float(_pair().disparity[view.top + int(STEP * y), view.left + int(STEP * x)])
    if not np.isfinite(disparity):
        return None
    return round(BASELINE * PHOTO_FOCAL / (disparity + OFFSET) / 10)


class _Pair(NamedTuple):
    """pixels [H, W, 3] uint8 of the left photograph; disparity [H, W] float32, not finite where unknown."""

    pixels: np.ndarray
    disparity: np.ndarray


@functools.cache
def _pair() -> _Pair:
    import_pillow()
    try:
        from skimage import data
    except ImportError as error:
        raise InputError(
            'the world spatial has a stereo pair of scikit-image, which is missing: pip install "handaxe[vision]"'
        ) from error
    left, _, disparity = data.stereo_motorcycle()
    return _Pair(np.asarray(left), np.asarray(disparity))
