"""Tool that separates a structure from its surroundings inside a box of an image.

Kept: users train policies on images of their own.

Idea: a region named by a policy becomes a mask by a tool, as in agents with a segmentation model (arXiv:2512.14157,
Ophiuchus). The method is Otsu's threshold (IEEE Transactions on Systems, Man and Cybernetics 9, 1979) of scikit-image.

Example:
    env = tool_chat([crop(longest=448), segment()])
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from handaxe.core.errors import InputError, Retry
from handaxe.core.images import Image
from handaxe.tools.crop import WORDS, Box, check_box, check_box_sizes
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import ToolContext

__all__ = ["ImageSegment", "otsu_segment", "segment"]

GREY = np.array([0.299, 0.587, 0.114])
"""Weights of red, green and blue in the brightness."""


class ImageSegment(NamedTuple):
    """A structure of an image.

    mask  [H, W] bool, of the whole image
    box   left, top, right and bottom of the mask in pixels; right and bottom are exclusive
    area  pixels of the mask
    """

    mask: np.ndarray
    box: Box
    area: int


def otsu_segment(pixels: np.ndarray, box: Box, *, dark: bool = True) -> ImageSegment | None:
    """Segment the largest connected structure inside a box by Otsu's threshold of the brightness.

    Args:
        pixels: [H, W, 3] uint8.
        box: left, top, right, bottom in pixels, inside the image.
        dark: the structure is darker than its surroundings.

    Returns:
        The structure, or None for a box of a single brightness.

    Raises:
        InputError: scikit-image is missing (extra [vision]).

    Example:
        brightness 9 9 9 / 9 1 1 / 9 9 9 and the whole box: mask of the two pixels of 1, box (1, 1, 3, 2), area 2
    """
    threshold_otsu, label = _import_skimage()
    left, top, right, bottom = box
    grey = (pixels[top:bottom, left:right] @ GREY).round().astype(np.uint8)
    if grey.min() == grey.max():
        return None
    level = threshold_otsu(grey)
    parts = label(grey <= level if dark else grey > level, connectivity=1)
    part = parts == 1 + int(np.argmax(np.bincount(parts.ravel())[1:]))
    mask = np.zeros(pixels.shape[:2], bool)
    mask[top:bottom, left:right] = part
    rows, columns = (np.flatnonzero(part.any(axis)) for axis in (1, 0))
    inside = (left + columns[0], top + rows[0], left + columns[-1] + 1, top + rows[-1] + 1)
    return ImageSegment(mask, (int(inside[0]), int(inside[1]), int(inside[2]), int(inside[3])), int(part.sum()))


def segment(
    *,
    unit: Literal["pixels", "per_mille"] = "pixels",
    dark: bool = True,
    longest: int | None = None,
    smallest: int = 4,
    cost: float = 0.0,
    prefix: str = "",
) -> Tool:
    """Make the tool `segment(box, image)`: the largest structure inside a box of an image of the conversation.

        box    left, top, right, bottom; right and bottom are exclusive
        image  number of the image, from 1; by default the first

    The reply names the structure's box and area in pixels and has an image of the box: the mask in white on black.

    Args:
        unit: of the box: pixels of the image, or thousandths of its width and height.
        dark: the structure is darker than its surroundings.
        longest: longest side of the mask's image in pixels, by resampling; None keeps the pixels.
        smallest: shortest side of a box in pixels, >= 1.
        cost: of a call.
        prefix: before the tool's name.

    Returns:
        A tool. It answers with Retry for a box that `crop` refuses, and for a box of a single brightness.

    Raises:
        InputError: an unknown unit, `longest` or `smallest` below 1, or scikit-image is missing (extra [vision]).

    Example:
        segment().run(ToolCall("segment", {"box": [0, 0, 64, 64]}), images=(image,)) replies with "box 12 9 40 44 area
        812" and an image of 64 x 64 pixels
    """
    check_box_sizes(unit, smallest, longest)
    _import_skimage()

    def find(box: Box, context: ToolContext, image: Annotated[int, "number of the image, from 1"] = 1) -> list[Any]:
        """Find the structure inside a part of an image: its box, its area and its mask."""
        shown = context.image(image)
        inside = check_box(box, shown, unit, smallest)
        found = otsu_segment(shown.pixels, inside, dark=dark)
        if found is None:
            raise Retry(f"the box {list(box)} has a single brightness: give a box around a structure")
        mask = Image.of(found.mask.astype(np.uint8) * 255).crop(inside, longest=longest)
        return [f"box {' '.join(map(str, found.box))} area {found.area} ", mask]

    find.__annotations__["box"] = Annotated[Box, WORDS[unit]]
    return tool(name=f"{prefix}segment", timeout=None, cost=cost)(find)


def _import_skimage() -> tuple[Any, Any]:
    """Import Otsu's threshold and the labelling of connected parts."""
    try:
        from skimage.filters import threshold_otsu
        from skimage.measure import label
    except ImportError as error:
        raise InputError('segment needs scikit-image, which is missing: pip install "handaxe[vision]"') from error
    return threshold_otsu, label
