"""Tool that reads QR codes and bar codes of an image.

Kept: users train policies on images of their own.

Idea: information that no policy reads by looking, but a tool does exactly. The reader is zxing-cpp.

Example:
    env = tool_chat([crop(longest=448), read_code()])
"""

from __future__ import annotations

from typing import Any, Literal

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.tools.crop import check_box_sizes
from handaxe.tools.decorator import Tool
from handaxe.tools.image_reader import image_reader

__all__ = ["decode_codes", "read_code"]

NOTHING = "no code found"


def read_code(
    *,
    unit: Literal["pixels", "per_mille"] = "pixels",
    smallest: int = 8,
    boxes: bool = True,
    cost: float = 0.0,
    prefix: str = "",
) -> Tool:
    """Make the tool `read_code(image, box)`: the content of the codes of an image of the conversation, a line each.

        image  number of the image, from 1; by default the first
        box    left, top, right, bottom; right and bottom are exclusive; by default the whole image

    An `image_reader`. Kinds of codes: QR, Micro QR, Aztec, Data Matrix, PDF417, EAN, UPC, Code 39, 93 and 128, Codabar,
    ITF, DataBar.

    Args:
        unit: of the box: pixels of the image, or thousandths of its width and height.
        smallest: shortest side of a box in pixels, >= 1.
        boxes: offer the parameter `box`; False for a tool with one parameter, with shorter calls.
        cost: of a call.
        prefix: before the tool's name.

    Returns:
        A tool. The reply to an image without code is "no code found". The tool answers with Retry for a box that `crop`
        refuses, and if there is no such image.

    Raises:
        InputError: an unknown unit, `smallest` below 1, or zxing-cpp is missing (extra [vision]).

    Example:
        read_code().run(ToolCall("read_code", {"image": 1}), images=(label,)) replies with "4711"
    """
    check_box_sizes(unit, smallest)
    _import_zxing()
    return image_reader(
        name=f"{prefix}read_code",
        about="Read the QR codes and bar codes of an image",
        lines=decode_codes,
        nothing=NOTHING,
        unit=unit,
        smallest=smallest,
        boxes=boxes,
        cost=cost,
    )


def decode_codes(image: Image) -> tuple[str, ...]:
    """Return the content of every code of an image; () without a code.

    Raises:
        InputError: zxing-cpp is missing (extra [vision]).
    """
    return tuple(str(found.text) for found in _import_zxing().read_barcodes(image.pixels))


def _import_zxing() -> Any:
    try:
        import zxingcpp
    except ImportError as error:
        raise InputError('read_code needs zxing-cpp, which is missing: pip install "handaxe[vision]"') from error
    return zxingcpp
