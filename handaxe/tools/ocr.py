"""Tool that reads the text of an image.

Kept: users train policies on images of their own.

Idea: a policy calls a recognizer for text that it cannot read (arXiv:2407.08713, GTA). The recognizer is PP-OCRv4 of
rapidocr-onnxruntime; its weights are in the package.

Example:
    env = tool_chat([crop(longest=448), ocr()])
"""

from __future__ import annotations

import functools
import importlib.util
import threading
from typing import Any, Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.tools.crop import check_box_sizes
from handaxe.tools.decorator import Tool
from handaxe.tools.image_reader import image_reader

__all__ = ["ocr", "recognize_text"]

NOTHING = "no text found"
MISSING = 'ocr needs rapidocr-onnxruntime, which is missing: pip install "handaxe[vision]"'
LEAST, MOST = 32, 2_000
"""Bounds of `detail`; larger images are reduced to MOST pixels on the longest side."""
KEPT = 10_000
"""Texts that stay in memory."""
LOCK = threading.Lock()
"""Of the engine and of the kept texts."""
TEXTS = dict[tuple[str, int], tuple[str, ...]]()
"""Kept texts by digest of the image and `detail`."""


def ocr(
    *,
    unit: Literal["pixels", "per_mille"] = "pixels",
    detail: int = 736,
    smallest: int = 8,
    boxes: bool = True,
    cost: float = 0.0,
    prefix: str = "",
) -> Tool:
    """Make the tool `ocr(image, box)`: the text of an image of the conversation, or of a box of it, line by line.

        image  number of the image, from 1; by default the first
        box    left, top, right, bottom; right and bottom are exclusive; by default the whole image

    An `image_reader`. A process has one recognizer, which runs in one thread, and keeps texts by digest of the image:
    siblings of a rollout read the same images.

    Args:
        unit: of the box: pixels of the image, or thousandths of its width and height.
        detail: pixels to which the shortest side of a smaller image is enlarged before text is detected, 32 to 2000.
            256 is three times as fast as 736 and reads large text as well.
        smallest: shortest side of a box in pixels, >= 1.
        boxes: offer the parameter `box`; False for a tool with one parameter, with shorter calls.
        cost: of a call.
        prefix: before the tool's name.

    Returns:
        A tool. The reply to an image without text is "no text found". The tool answers with Retry for a box that `crop`
        refuses, and if there is no such image.

    Raises:
        InputError: an unknown unit, `detail` or `smallest` out of range, or rapidocr-onnxruntime is missing (extra
            [vision]).

    Example:
        ocr().run(ToolCall("ocr", {"image": 1}), images=(receipt,)) replies with "Total 89.50"
    """
    check_box_sizes(unit, smallest)
    if not LEAST <= detail <= MOST:
        raise InputError(f"detail is {detail} pixels; give {LEAST} to {MOST}")
    if importlib.util.find_spec("rapidocr_onnxruntime") is None:
        raise InputError(MISSING)
    return image_reader(
        name=f"{prefix}ocr",
        about="Read the text of an image",
        lines=functools.partial(recognize_text, detail=detail),
        nothing=NOTHING,
        unit=unit,
        smallest=smallest,
        boxes=boxes,
        cost=cost,
    )


def recognize_text(image: Image, *, detail: int = 736) -> tuple[str, ...]:
    """Return the lines of text of an image, from top to bottom; () without text.

    Args:
        image: of any size.
        detail: see `ocr`.

    Raises:
        InputError: rapidocr-onnxruntime is missing (extra [vision]).
    """
    key = (image.digest, detail)
    with LOCK:
        if key not in TEXTS:
            if len(TEXTS) >= KEPT:
                TEXTS.pop(next(iter(TEXTS)))
            TEXTS[key] = _recognize(image, detail)
        return TEXTS[key]


def _recognize(image: Image, detail: int) -> tuple[str, ...]:
    engine = _engine()
    engine.text_det.limit_side_len = detail
    found, _ = engine(np.ascontiguousarray(image.pixels[:, :, ::-1]))  # in the order of OpenCV: blue, green, red
    return tuple(str(text) for _, text, _ in found or ())


@functools.cache
def _engine() -> Any:
    """Load the recognizer: detection and recognition, without the classifier of upside-down lines."""
    try:
        from rapidocr_onnxruntime import RapidOCR
    except ImportError as error:
        raise InputError(MISSING) from error
    return RapidOCR(
        use_cls=False, max_side_len=MOST, det_limit_type="min", intra_op_num_threads=1, inter_op_num_threads=1
    )
