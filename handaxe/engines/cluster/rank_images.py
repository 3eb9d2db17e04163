"""Images of the rows of ranks: sent once, and kept by digest on both ends of a pipe.

A step reads the same images several times (old log-probs, reference, loss), and siblings share them. `ImageSender` in
the driver and `ImageReceiver` in the rank hold the same least recently used digests, since both see the same calls in
the same order; the driver sends an image that both hold as its digest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from handaxe.core.images import Image

__all__ = ["ImageReceiver", "ImageSender", "SentImage"]

SentImage = Image | str
"""An image, or the digest of one that the receiver holds."""
MAX_PIXELS = 1 << 28
"""Pixels that a rank keeps: 0.8 GB."""


class ImageSender:
    """Driver's end: knows what a rank holds.

    Args:
        max_pixels: as of the receiver.
    """

    def __init__(self, max_pixels: int = MAX_PIXELS):
        self._held = _Recent(max_pixels)

    def prepare(self, images: Sequence[SentImage]) -> tuple[SentImage, ...]:
        """Replace the images that the rank holds by their digests."""
        whole = [image for image in images if isinstance(image, Image)]
        sent = tuple(image.digest if image.digest in self._held.images else image for image in whole)
        self._held.use(whole)
        return sent


class ImageReceiver:
    """Rank's end: restores the images.

    Args:
        max_pixels: pixels to keep; images of one call are restored even if they have more.
    """

    def __init__(self, max_pixels: int = MAX_PIXELS):
        self._held = _Recent(max_pixels)

    def restore(self, sent: Sequence[SentImage]) -> tuple[Image, ...]:
        """Replace digests by the images that an earlier call brought."""
        images = tuple(self._held.images[one] if isinstance(one, str) else one for one in sent)
        self._held.use(images)
        return images


class _Recent:
    """The most recently used images, up to a number of pixels."""

    def __init__(self, max_pixels: int):
        self.images: OrderedDict[str, Image] = OrderedDict()
        self._max_pixels, self._pixels = max_pixels, 0

    def use(self, images: Sequence[Image]) -> None:
        """Add images, and drop the least recently used beyond the limit."""
        for image in images:
            if image.digest not in self.images:
                self._pixels += image.width * image.height
            self.images[image.digest] = image
            self.images.move_to_end(image.digest)
        while self._pixels > self._max_pixels:
            _, dropped = self.images.popitem(last=False)
            self._pixels -= dropped.width * dropped.height
