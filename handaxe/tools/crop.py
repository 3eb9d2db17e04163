"""Tool that shows a part of an image, enlarged.

Kept: users train policies on images of their own.

Idea: a part of an image has more tokens for the same pixels, so that small things can be read (arXiv:2505.14362,
DeepEyes).

Example:
    env = tool_chat([crop(longest=448)])
"""

from __future__ import annotations

from typing import Annotated, Literal

from handaxe.core.errors import InputError, Retry
from handaxe.core.image_decoding import LIMITS
from handaxe.core.images import Image
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import ToolContext

__all__ = ["Box", "check_box", "check_box_sizes", "crop"]

PER_MILLE = 1000
Box = tuple[int, int, int, int]
WORDS = {
    "pixels": "left, top, right, bottom in pixels",
    "per_mille": "left, top, right, bottom, each from 0 to 1000 of the image",
}


def crop(
    *,
    unit: Literal["pixels", "per_mille"] = "pixels",
    longest: int | None = None,
    smallest: int = 1,
    cost: float = 0.0,
    prefix: str = "",
) -> Tool:
    """Make the tool `crop(box, image)`: a part of an image of the conversation, cut from its original pixels.

        box    left, top, right, bottom; right and bottom are exclusive
        image  number of the image, from 1; by default the first

    The tool has no state: forks of a rollout need no snapshot.

    Args:
        unit: of the box: pixels of the image, or thousandths of its width and height.
        longest: longest side of the result in pixels, by resampling; None keeps the pixels.
        smallest: shortest side of a box in pixels, >= 1.
        cost: of a call.
        prefix: before the tool's name.

    Returns:
        A tool. It answers with Retry if the box is empty, is not inside the image, has a side below `smallest`, or is
        more than 100 times as long as wide, and if there is no such image.

    Raises:
        InputError: an unknown unit, or `longest` or `smallest` below 1.

    Example:
        crop(longest=448).run(ToolCall("crop", {"box": [0, 0, 64, 64]}), images=(image,)) replies with 448 x 448 pixels
    """
    check_box_sizes(unit, smallest, longest)

    def cut(box: Box, context: ToolContext, image: Annotated[int, "number of the image, from 1"] = 1) -> Image:
        """Look at a part of an image."""
        shown = context.image(image)
        return shown.crop(check_box(box, shown, unit, smallest), longest=longest)

    cut.__annotations__["box"] = Annotated[Box, WORDS[unit]]
    return tool(name=f"{prefix}crop", timeout=None, cost=cost)(cut)


def check_box_sizes(unit: str, smallest: int, longest: int | None = None) -> None:
    """Raise InputError for an unknown unit of boxes, or a side below 1 pixel."""
    if unit not in WORDS:
        raise InputError(f"unit is {unit!r}; give pixels or per_mille")
    if smallest < 1 or (longest is not None and longest < 1):
        raise InputError(f"longest is {longest} and smallest {smallest} pixels; give 1 or more each")


def check_box(box: Box, image: Image, unit: str, smallest: int) -> Box:
    """Return the box in pixels.

    Args:
        box: left, top, right, bottom in the unit.
        image: that the box lies in.
        unit: pixels or per_mille.
        smallest: shortest side in pixels.

    Raises:
        Retry: the box is empty, outside the image, too small or too narrow.
    """
    width, height = (image.width, image.height) if unit == "pixels" else (PER_MILLE, PER_MILLE)
    left, top, right, bottom = box
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise Retry(
            f"the box {list(box)} is empty or not inside the image of {width} by {height}: give left < right and "
            "top < bottom"
        )
    if unit == "per_mille":  # outwards, so that no box becomes empty
        left, right = left * image.width // PER_MILLE, -(-right * image.width // PER_MILLE)
        top, bottom = top * image.height // PER_MILLE, -(-bottom * image.height // PER_MILLE)
    sides = right - left, bottom - top
    if min(sides) < smallest or max(sides) > LIMITS.ratio * min(sides):
        raise Retry(f"the box {list(box)} has {sides[0]} by {sides[1]} pixels: give a larger or less narrow box")
    return left, top, right, bottom
