"""Keys of images over the life of an engine: a cached prefix may outlive the request that brought its images.

Idea: an id of an image token names its image by 46 bits of the digest. Within a request `core.images.index_images`
finds two images that share them; between requests, where one has ended, this table does.

Example:
    keys = ImageKeys(); keys.add(request.images)
"""

from __future__ import annotations

from collections.abc import Iterable

from handaxe.core.errors import InputError
from handaxe.core.images import Image

__all__ = ["ImageKeys"]


class ImageKeys:
    """Digest of every image by key; about 200 bytes an image."""

    def __init__(self) -> None:
        self._digest_of: dict[int, str] = {}

    def add(self, images: Iterable[Image]) -> None:
        """Remember images.

        Raises:
            InputError: an image shares its key with an earlier one of another digest.
        """
        for image in images:
            known = self._digest_of.setdefault(image.key, image.digest)
            if known != image.digest:
                raise InputError(
                    f"the image {image.digest} shares the key {image.key:#x} with {known}, which this engine has read: "
                    "change a pixel of one of them"
                )
