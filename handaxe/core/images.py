"""Images as values, and the ids of image tokens.

A text with images has PLACEHOLDER, one character, at the position of each; the images stand beside the text, in order.
An id of an image token names the image and the number of the token; no vocabulary has such ids:

    bit 62        1
    bits 16..61   key of the image, the first 46 bits of its digest
    bits 0..15    number of the token among those of the image

Rows with different images differ in their ids, so prefix trees, prefix caches, forks and replays compare ids alone. An
image is one unbroken run of its own ids. Ids become ids of a vocabulary where a model embeds them or a server gets
them.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import LIMITS, ImageLimits, decode, import_pillow, to_rgb

if TYPE_CHECKING:
    from PIL import Image as Pillow

__all__ = [
    "FIRST_IMAGE_ID",
    "Image",
    "ImageLimits",
    "PLACEHOLDER",
    "image_key",
    "image_spans",
    "index_images",
    "is_image_id",
    "join_images",
    "message_images",
    "name_images",
    "split_images",
    "token_number",
    "unique_images",
]

PLACEHOLDER = "\ufffc"
"""Unicode's object replacement character."""
REPLACEMENT = "\ufffd"
"""Written for a PLACEHOLDER that came in as text."""
FIRST_IMAGE_ID = 1 << 62
"""The lowest id of an image token."""
MAX_TOKENS = 1 << 16
"""Tokens that an image may have."""
PNG = "image/png"
JPEG = "image/jpeg"
HEAD = "RGB {} {}\n"


class Image:
    """An RGB image of 8 bits. Images are equal if their digests are: the encoding of a file plays no part.

    width, height  in pixels
    digest         sha256 of the text "RGB WIDTH HEIGHT", a line break and the pixels, in hexadecimal digits

    `Image.of` makes an image of pixels, `Image.read` of a file or of bytes that nobody has checked. PNG bytes are made
    when `data` is first read. Needs Pillow: extra [images].
    """

    __slots__ = ("_data", "_load", "_media_type", "_pixels", "digest", "height", "width")

    def __init__(
        self,
        width: int,
        height: int,
        digest: str,
        *,
        pixels: np.ndarray | None = None,
        data: bytes | None = None,
        media_type: str = PNG,
        load: Callable[[], bytes | Image] | None = None,
    ):
        """Make an image of known digest. Use `of` or `read`; one of `pixels`, `data` and `load` is needed.

        Args:
            width: in pixels.
            height: in pixels.
            digest: see the class.
            pixels: [H, W, 3] uint8.
            data: encoded bytes of the media type.
            media_type: image/png or image/jpeg.
            load: reads `data`, or the image, on demand, such as from a run record or a file. The result is not kept, so
                that many such images need little memory.
        """
        self.width = width
        self.height = height
        self.digest = digest
        self._pixels = pixels
        self._data = data
        self._media_type = media_type
        self._load = load

    @classmethod
    def of(cls, pixels: np.ndarray | Pillow.Image) -> Image:
        """Make an image of trusted pixels, for tools and worlds.

        Args:
            pixels: a Pillow image, or uint8 [H, W] (grey), [H, W, 3] (RGB) or [H, W, 4] (RGBA, laid on white).

        Raises:
            InputError: an array of another shape or type, or an image without pixels.
        """
        array = _rgb_array(pixels) if isinstance(pixels, np.ndarray) else to_rgb(pixels)
        if not array.size:
            raise InputError(f"an image needs at least one pixel; this one is {array.shape[1]} by {array.shape[0]}")
        return _from_array(array)

    @classmethod
    def read(cls, data: bytes | Path, *, limits: ImageLimits = LIMITS) -> Image:
        """Decode untrusted bytes, or a file. Size and format are checked before the pixels are decoded; nothing is
        fetched. Orientation is applied, transparency laid on white, the first frame of an animation taken, all metadata
        dropped. A JPEG keeps its encoding.

        Args:
            data: encoded bytes, or the path of a file.
            limits: what is accepted.

        Raises:
            InputError: a file that cannot be read, a format outside the limits, damaged or truncated data, or an image
                beyond the limits; the message says which.
        """
        pixels, jpeg = decode(data, limits)
        return _from_array(pixels, jpeg)

    @property
    def pixels(self) -> np.ndarray:
        """[H, W, 3] uint8, read-only.

        Raises:
            InputError: the stored bytes decode to other pixels than those of the digest.
        """
        if self._pixels is None and self._load is not None:
            return self._loaded(self._load).pixels
        if self._pixels is None:
            self._pixels = self._decode()
        return self._pixels

    @property
    def data(self) -> bytes:
        """Encoded bytes of `media_type`: a JPEG without its metadata, else PNG, made when first asked for."""
        if self._data is None and self._load is not None:
            return self._loaded(self._load).data
        if self._data is None:
            self._data = self._encode()
        return self._data

    @property
    def media_type(self) -> str:
        """image/png or image/jpeg."""
        return self._media_type

    @property
    def data_url(self) -> str:
        """The encoded bytes as a data: URL in base64."""
        return f"data:{self._media_type};base64,{base64.b64encode(self.data).decode()}"

    @property
    def key(self) -> int:
        """First 46 bits of the digest."""
        return int(self.digest[:12], 16) >> 2

    def ids(self, count: int) -> list[int]:
        """Ids of its `count` tokens, in order.

        Raises:
            InputError: `count` is below 1 or above 65,536.
        """
        if not 1 <= count <= MAX_TOKENS:
            raise InputError(f"an image of {count} tokens has no ids: it has 1 to {MAX_TOKENS} tokens")
        first = FIRST_IMAGE_ID | self.key << 16
        return list(range(first, first + count))

    def crop(self, box: tuple[int, int, int, int], *, longest: int | None = None) -> Image:
        """Cut a part out, from the original pixels.

        Args:
            box: left, top, right, bottom in pixels; right and bottom are exclusive.
            longest: longest side of the result in pixels, by resampling; None keeps the pixels.

        Raises:
            InputError: a box that is empty or not inside the image, or `longest` below 1.
        """
        left, top, right, bottom = box
        if not (0 <= left < right <= self.width and 0 <= top < bottom <= self.height):
            raise InputError(f"box {box} is not inside the image of {self.width} by {self.height} pixels, or is empty")
        part = self.pixels[top:bottom, left:right]
        return Image.of(part if longest is None else _resample(part, longest))

    def resized(self, longest: int) -> Image:
        """Resample so that the longest side has `longest` pixels.

        Raises:
            InputError: `longest` is below 1.
        """
        return Image.of(_resample(self.pixels, longest))

    def pillow(self) -> Pillow.Image:
        """Copy as a Pillow image of mode RGB."""
        copied: Pillow.Image = import_pillow().fromarray(self.pixels)
        return copied

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Image) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Image({self.width}x{self.height}, {self.digest[:12]})"

    def __copy__(self) -> Image:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Image:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._pixels is not None and self._data is None and self._load is None:
            return _from_pixels, (self.digest, self._pixels)
        return _from_data, (self.width, self.height, self.digest, self.data, self._media_type)

    def _loaded(self, load: Callable[[], bytes | Image]) -> Image:
        found = load()
        if isinstance(found, bytes):
            return Image(self.width, self.height, self.digest, data=found, media_type=self._media_type)
        if found != self:
            raise InputError(f"{self!r} has changed since it was first read, and is {found!r} now: put it back")
        return found

    def _encode(self) -> bytes:
        out = io.BytesIO()
        self.pillow().save(out, "PNG", compress_level=1)
        return out.getvalue()

    def _decode(self) -> np.ndarray:
        # Limits of untrusted files do not hold here: PNG bytes of an image within them may be beyond them.
        size = self.width * self.height
        limits = ImageLimits(LIMITS.bytes + 4 * size, size, max(self.width, self.height), float("inf"), ("PNG", "JPEG"))
        found = decode(self.data, limits, repr(self)).pixels
        if _digest(found) != self.digest:
            raise InputError(
                f"{self!r} decodes to other pixels than those of its digest: the bytes were changed, or this "
                "version of Pillow decodes JPEG in another way"
            )
        found.flags.writeable = False
        return found


def split_images(text: str, images: Sequence[Image]) -> list[str | Image]:
    """Split a text into texts and images, in order, without empty texts. Without images PLACEHOLDER is a character like
    any other.

    Raises:
        InputError: the text has another number of PLACEHOLDER than there are images.
    """
    if not images:
        return [text] if text else []
    parts = text.split(PLACEHOLDER)
    if len(parts) != len(images) + 1:
        raise InputError(
            f"a text has {len(parts) - 1} image placeholders, and {len(images)} images stand beside it: write "
            "Message.of(role, text, image, ...)"
        )
    found: list[str | Image] = [parts[0]]
    for image, part in zip(images, parts[1:]):
        found += [image, part]
    return [piece for piece in found if piece != ""]


def join_images(*parts: str | Image) -> tuple[str, tuple[Image, ...]]:
    """Join texts and images: the inverse of `split_images`. A PLACEHOLDER inside a text becomes U+FFFD if there are
    images.

    Example:
        join_images("a ", image, " b") -> ("a \\ufffc b", (image,))
    """
    images = tuple(part for part in parts if isinstance(part, Image))
    if not images:
        return "".join(part for part in parts if isinstance(part, str)), ()
    texts = (part.replace(PLACEHOLDER, REPLACEMENT) if isinstance(part, str) else PLACEHOLDER for part in parts)
    return "".join(texts), images


def name_images(text: str, images: Sequence[Image]) -> str:
    """Write every image of a text in words, for readers without images.

    Example:
        name_images("a \\ufffc b", (image,)) -> "a [image 640x480] b"
    """
    parts = split_images(text, images)
    return "".join(f"[image {one.width}x{one.height}]" if isinstance(one, Image) else one for one in parts)


def index_images(images: Iterable[Image]) -> Mapping[int, Image]:
    """Key -> image.

    Raises:
        InputError: two different images share a key, by a chance of 1 in 70 trillion a pair.
    """
    found: dict[int, Image] = {}
    for image in images:
        if found.setdefault(image.key, image) != image:
            raise InputError(
                f"the images {image.digest} and {found[image.key].digest} share the key {image.key}: change one of them"
            )
    return found


def unique_images(images: Iterable[Image]) -> tuple[Image, ...]:
    """Every distinct image once, in the order of first appearance."""
    return tuple({image.digest: image for image in images}.values())


class _HasImages(Protocol):
    @property
    def images(self) -> tuple[Image, ...]: ...


def message_images(messages: Iterable[_HasImages]) -> tuple[Image, ...]:
    """Every distinct image of messages, or of tool replies, in order."""
    return unique_images(image for message in messages for image in message.images)


def is_image_id(ids: Any) -> Any:
    """True for ids of image tokens; of an int, an array or a tensor."""
    return ids >= FIRST_IMAGE_ID


def image_key(ids: Any) -> Any:
    """Keys of the images of image tokens; of an int, an array or a tensor."""
    return (ids - FIRST_IMAGE_ID) >> 16


def token_number(ids: Any) -> Any:
    """Numbers of image tokens among those of their images, from 0; of an int, an array or a tensor."""
    return ids & (MAX_TOKENS - 1)


def image_spans(ids: np.ndarray | Sequence[int]) -> list[tuple[int, int, int]]:
    """List (start, stop, key) of every run of image tokens, in order. A run ends where the token number is 0 again.

    Args:
        ids: [T] int64, or a sequence of ints.

    Example:
        ids 7 a0 a1 a0 a1 b0 9 -> (1, 3, key of a), (3, 5, key of a), (5, 6, key of b)
    """
    array = np.asarray(ids, np.int64)
    at = np.flatnonzero(is_image_id(array))
    if not len(at):
        return []
    chosen = array[at]
    begins = (token_number(chosen) == 0) | (np.diff(at, prepend=-2) > 1) | (np.diff(chosen, prepend=-2) != 1)
    starts = np.flatnonzero(begins)
    stops = np.append(starts[1:], len(at))
    return [(int(at[a]), int(at[b - 1]) + 1, int(image_key(chosen[a]))) for a, b in zip(starts, stops)]


def _resample(pixels: np.ndarray, longest: int) -> Pillow.Image:
    """Resample [H, W, 3] so that the longest side has `longest` pixels."""
    if longest < 1:
        raise InputError(f"the longest side of an image is {longest} pixels; give 1 or more")
    height, width = pixels.shape[:2]
    scale = longest / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    pillow = import_pillow()
    method = pillow.Resampling.BOX if scale < 1 else pillow.Resampling.BICUBIC
    resized: Pillow.Image = pillow.fromarray(np.ascontiguousarray(pixels)).resize(size, method)
    return resized


def _digest(array: np.ndarray) -> str:
    height, width = array.shape[:2]
    return hashlib.sha256(HEAD.format(width, height).encode() + array.tobytes()).hexdigest()


def _rgb_array(pixels: np.ndarray) -> np.ndarray:
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)):
        raise InputError(
            f"an image is made of uint8 [H, W], [H, W, 3] or [H, W, 4]; this array is {pixels.dtype} "
            f"{list(pixels.shape)}"
        )
    if pixels.ndim == 2:
        return np.repeat(pixels[:, :, None], 3, axis=2)
    return to_rgb(import_pillow().fromarray(pixels)) if pixels.shape[2] == 4 else pixels.copy()


def _from_array(pixels: np.ndarray, jpeg: bytes | None = None) -> Image:
    """Own `pixels` [H, W, 3] as an image."""
    height, width = pixels.shape[:2]
    if not pixels.size:
        raise InputError(f"an image needs at least one pixel; this one is {width} by {height}")
    pixels = np.ascontiguousarray(pixels)
    pixels.flags.writeable = False
    if jpeg is None:
        return Image(width, height, _digest(pixels), pixels=pixels)
    return Image(width, height, _digest(pixels), pixels=pixels, data=jpeg, media_type=JPEG)


def _from_pixels(digest: str, pixels: np.ndarray) -> Image:
    pixels.flags.writeable = False
    return Image(pixels.shape[1], pixels.shape[0], digest, pixels=pixels)


def _from_data(width: int, height: int, digest: str, data: bytes, media_type: str) -> Image:
    return Image(width, height, digest, data=data, media_type=media_type)
