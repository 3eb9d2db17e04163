"""Limits on the pixels of an image after the resizing of a transformers image processor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from handaxe.core.errors import InputError

__all__ = ["limit_pixels"]


def limit_pixels(processor: Any, family: str, most: int) -> None:
    """Set the settings of an image processor so that an image has at most a number of pixels after resizing.

    All tiles count, and the whole image beside them. A limit of the processor that is lower stays. Qwen's processors
    give the shorter side a patch at least, so that a long strip can have more pixels.

        qwen2_vl, qwen2_5_vl, qwen3_vl    size.longest_edge, a number of pixels (`max_pixels` before transformers 5)
        smolvlm, idefics3                 size.longest_edge of n tiles: the largest n where n^2 + 1 tiles fit, or 1
        internvl                          max_patches
        llava_onevision                   image_grid_pinpoints
        gemma3                            none: an image has one size

    Args:
        processor: processor of transformers, changed in place.
        family: `model_type`, one of `models.image_processors.FAMILIES`.
        most: pixels, >= 1.

    Raises:
        InputError: the processor makes no image so small; the message has the least number.

    Example:
        SmolVLM with tiles of 512 by 512 pixels, 1,500,000 pixels -> longest_edge 1024: 4 tiles and the whole image
    """
    if most < 1:
        raise InputError(f"max_pixels is {most}; give 1 or more")
    least = _LIMITS[family](processor.image_processor, most)
    if least > most:
        raise InputError(
            f"max_pixels is {most}, and the image processor of the model makes at least {least} pixels of an image: "
            f"give {least} or more"
        )


def _by_area(images: Any, most: int) -> int:
    least = (images.patch_size * images.merge_size) ** 2
    size = dict(images.size)
    images.size = _like(images.size, {name: min(size[name], most) for name in ("shortest_edge", "longest_edge")})
    return int(least)


def _by_edge(images: Any, most: int) -> int:
    tile = images.max_image_size["longest_edge"]
    count = max(1, math.isqrt(max(0, most // tile**2 - 1)))
    images.size = _like(images.size, {"longest_edge": min(images.size["longest_edge"], count * tile)})
    return int(tile**2)


def _by_patches(images: Any, most: int) -> int:
    tile = images.size["height"] * images.size["width"]
    count = max(1, most // tile - 1)  # one tile has no whole image beside it
    images.max_patches = min(images.max_patches, count)
    images.min_patches = min(images.min_patches, count)
    return int(tile)


def _by_grid(images: Any, most: int) -> int:
    whole = images.size["height"] * images.size["width"]
    areas = {(height, width): whole + height * width for height, width in images.image_grid_pinpoints}
    least = min(areas.values())
    images.image_grid_pinpoints = [list(side) for side, area in areas.items() if area <= max(most, least)]
    return int(least)


def _fixed(images: Any, most: int) -> int:
    del most
    return int(images.size["height"] * images.size["width"])


def _like(size: Any, values: Mapping[str, int]) -> Any:
    """Sides in the class of other sides."""
    return dict(values) if isinstance(size, dict) else type(size)(**values)


_LIMITS: Mapping[str, Callable[[Any, int], int]] = {
    "qwen2_vl": _by_area,
    "qwen2_5_vl": _by_area,
    "qwen3_vl": _by_area,
    "smolvlm": _by_edge,
    "idefics3": _by_edge,
    "internvl": _by_patches,
    "llava_onevision": _by_grid,
    "gemma3": _fixed,
}
"""Family -> (image processor, pixels) -> least pixels of an image; sets the limit."""
