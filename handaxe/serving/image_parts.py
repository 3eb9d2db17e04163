"""Images in requests of the chat completions protocol: parts of type image_url with data: URLs; nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.image_decoding import ImageLimits, decode_data_url
from handaxe.core.images import Image

__all__ = ["ImageBudget", "ImagePartError"]

MAX_IMAGES = 16
"""Images of a message."""
MAX_PIXELS = 16_777_216
"""Pixels of all images of a request."""


class ImagePartError(HandaxeError):
    """A part of a message that cannot be read as an image."""


class ImageBudget:
    """Reads the images of one request, of `MAX_PIXELS` in total.

    Args:
        shown: the served model shows images; if not, every image is refused.
    """

    def __init__(self, shown: bool):
        self._shown, self._pixels = shown, MAX_PIXELS

    def read(self, part: Mapping[str, Any], count: int) -> Image:
        """Read a part of type image_url.

        Args:
            part: the part of the message.
            count: images of the message before this one.

        Raises:
            ImagePartError: an address that would have to be fetched, a detail other than "auto", damaged data, or an
                image beyond the limits.
        """
        found = part.get("image_url")
        if not self._shown:
            raise ImagePartError("this model reads text only; leave images out")
        if count >= MAX_IMAGES:
            raise ImagePartError(f"a message has at most {MAX_IMAGES} images")
        if not isinstance(found, Mapping) or not isinstance(found.get("url"), str):
            raise ImagePartError("image_url must be an object with a url")
        if found.get("detail") not in (None, "auto"):
            raise ImagePartError('detail must be "auto": another size would change the answer')
        try:
            image = Image.read(decode_data_url(found["url"]), limits=ImageLimits(pixels=self._pixels))
        except InputError as error:
            raise ImagePartError(str(error)) from None
        self._pixels -= image.width * image.height
        return image
