"""Tools that reply with lines of text for an image, or for a box of it; `ocr` and `read_code` are two.

Kept: users make tools of their own recognizers.

Idea: a recognizer reads from an image what a policy cannot read.

Example:
    barcodes = image_reader(name="scan", about="Read the bar codes of an image", lines=scan, nothing="no code")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from handaxe.core.images import Image
from handaxe.tools.crop import WORDS, Box, check_box, check_box_sizes
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import ToolContext

__all__ = ["image_reader"]


def image_reader(
    *,
    name: str,
    about: str,
    lines: Callable[[Image], Sequence[str]],
    nothing: str,
    unit: Literal["pixels", "per_mille"] = "pixels",
    smallest: int = 8,
    boxes: bool = True,
    cost: float = 0.0,
) -> Tool:
    """Make the tool `NAME(image, box)`: lines of text for an image of the conversation, or for a box of it.

        image  number of the image, from 1; by default the first
        box    left, top, right, bottom; right and bottom are exclusive; by default the whole image

    The tool has no state: forks of a rollout need no snapshot.

    Args:
        name: of the tool.
        about: description of the tool without a full stop.
        lines: image -> lines of text; () for none.
        nothing: reply to an image without lines.
        unit: of the box: pixels of the image, or thousandths of its width and height.
        smallest: shortest side of a box in pixels, >= 1.
        boxes: offer the parameter `box`; False for a tool with one parameter, with shorter calls.
        cost: of a call.

    Returns:
        A tool. It answers with Retry for a box that `crop` refuses, and if there is no such image.

    Raises:
        InputError: an unknown unit, or `smallest` below 1.
    """
    check_box_sizes(unit, smallest)

    def read(
        context: ToolContext,
        image: Annotated[int, "number of the image, from 1"] = 1,
        box: Box | None = None,
    ) -> str:
        shown = context.image(image)
        part = shown if box is None else shown.crop(check_box(box, shown, unit, smallest))
        return "\n".join(lines(part)) or nothing

    def read_whole(context: ToolContext, image: Annotated[int, "number of the image, from 1"] = 1) -> str:
        return read(context, image)

    read.__annotations__["box"] = Annotated[Box | None, WORDS[unit]]
    read.__doc__ = f"{about}, or of a part of it."
    read_whole.__doc__ = f"{about}."
    return tool(name=name, timeout=None, cost=cost)(read if boxes else read_whole)
