"""Decoding of images from outside: limits first, then pixels. Nothing is fetched, and metadata is dropped."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError

if TYPE_CHECKING:
    from PIL import Image as Pillow

__all__ = ["Decoded", "ImageLimits", "LIMITS", "decode", "decode_data_url", "import_pillow", "to_rgb"]


class ImageLimits(NamedTuple):
    """Limits for images from outside: encoded bytes, pixels, longest side in pixels, ratio of the sides, formats."""

    bytes: int = 20_000_000
    pixels: int = 16_777_216
    side: int = 16_384
    ratio: float = 100.0
    formats: tuple[str, ...] = ("PNG", "JPEG", "WEBP", "GIF", "BMP")


LIMITS = ImageLimits()
ORIENTATION = 0x0112
"""EXIF tag."""
MARKER = re.compile(rb"\xff+[^\x00\xd0-\xd7\xff]", re.DOTALL)
"""Marker of a JPEG, after any fill bytes; stuffed bytes and restart markers of a scan are none."""
END = 0xD9
COMMENT = 0xFE
JFIF = b"JFIF\0"


class Decoded(NamedTuple):
    """Pixels [H, W, 3] uint8, and the bytes of a JPEG without metadata; None for other formats."""

    pixels: np.ndarray
    jpeg: bytes | None


def decode(data: bytes | Path, limits: ImageLimits = LIMITS, name: str = "the image") -> Decoded:
    """Decode untrusted bytes, or a file; see `Image.read`.

    Raises:
        InputError: the data cannot be read, or is beyond the limits; the message says which.
    """
    found, name = _read_bytes(data, limits, name)
    opened = _open(found, limits, name)
    width, height = opened.size
    if width * height > limits.pixels or max(width, height) > limits.side:
        raise InputError(
            f"{name} is {width} by {height} pixels; at most {limits.pixels} pixels and {limits.side} a side are read: "
            "shrink it, or raise ImageLimits"
        )
    if max(width, height) > limits.ratio * min(width, height):
        raise InputError(f"{name} is {width} by {height} pixels; its sides may differ by a factor of {limits.ratio:g}")
    try:
        jpeg = None
        kept = opened.format in ("JPEG", "MPO") and opened.mode in ("RGB", "L")
        if kept and opened.getexif().get(ORIENTATION, 1) in (0, 1):
            jpeg = _strip_jpeg(found)
            opened = _open(jpeg, limits, name)
        return Decoded(to_rgb(opened), jpeg)
    except InputError:
        raise
    except Exception as error:  # Pillow raises errors of many types for damaged data
        raise InputError(f"{name} is damaged or truncated ({error}): encode it again") from error


def decode_data_url(url: str) -> bytes:
    """Bytes of a data: URL in base64.

    Raises:
        InputError: another URL, or damaged base64.
    """
    kind, comma, data = url.partition(",")
    if not kind[:5].lower() == "data:":
        raise InputError("nothing is fetched here: give the image as a data: URL")
    if not comma or not kind.lower().endswith(";base64"):
        raise InputError("the data: URL is not in base64: write data:image/png;base64,...")
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        raise InputError("the data: URL has characters outside base64, or is cut off") from None


def import_pillow() -> Any:
    """Import PIL.Image. Raises InputError with the extra to install."""
    try:
        from PIL import Image as pillow
    except ImportError as error:
        raise InputError('images need Pillow: pip install "handaxe[images]"') from error
    return pillow


def to_rgb(image: Pillow.Image) -> np.ndarray:
    """Pixels [H, W, 3] uint8 of a Pillow image: upright, and on white where it is transparent."""
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        array = np.asarray(image, np.float64)
        scale = 257.0 if image.mode.startswith("I;16") or (image.mode == "I" and array.max(initial=0) > 255) else 1.0
        grey = np.clip(array / scale, 0, 255).round().astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if image.has_transparency_data:
        pillow = import_pillow()
        clear = image.convert("RGBA")
        image = pillow.alpha_composite(pillow.new("RGBA", clear.size, "white"), clear)
    return np.ascontiguousarray(np.asarray(image.convert("RGB")))


def _read_bytes(data: bytes | Path, limits: ImageLimits, name: str) -> tuple[bytes, str]:
    """Encoded bytes, and a name for messages."""
    if isinstance(data, Path):
        name = f"the image {data}"
        try:
            if not data.is_file():
                raise InputError(f"{name} is not a file")
            with data.open("rb") as file:
                found = file.read(limits.bytes + 1)
        except OSError as error:
            raise InputError(f"{name} cannot be read: {error}") from error
    elif isinstance(data, bytes):
        found = data
    else:
        raise InputError(f"an image is read from bytes or a Path, and not from a {type(data).__name__}")
    if len(found) > limits.bytes:
        raise InputError(f"{name} has more than {limits.bytes} bytes: shrink it, or raise ImageLimits.bytes")
    return found, name


def _open(data: bytes, limits: ImageLimits, name: str) -> Pillow.Image:
    """Open without decoding pixels."""
    pillow = import_pillow()
    try:
        opened: Pillow.Image = pillow.open(io.BytesIO(data), formats=list(limits.formats))
        return opened
    except Exception as error:  # Pillow raises errors of many types for damaged data
        formats = ", ".join(limits.formats)
        raise InputError(f"{name} is not an image that can be read ({_short(error)}); give {formats}") from error


def _short(error: Exception) -> str:
    return "unknown format" if "cannot identify" in str(error) else str(error)


def _strip_jpeg(data: bytes) -> bytes:
    """Cut metadata out of a JPEG: APP1 to APP13, APP15, comments, thumbnails, and all bytes after its end. APP14 stays:
    it names the colour transform."""
    out = bytearray(data[:2])
    place = 2
    while (found := MARKER.search(data, place)) is not None:
        out += data[place : found.start()]  # entropy-coded bytes of a scan; nothing elsewhere
        marker, start = data[found.end() - 1], found.end()
        if marker == END:
            return bytes(out) + b"\xff\xd9"
        place = start + int.from_bytes(data[start : start + 2], "big")
        out += _kept_segment(marker, data[start:place])
    return bytes(out + data[place:])


def _kept_segment(marker: int, payload: bytes) -> bytes:
    """Segment of a JPEG, its length included, as it is stored; no bytes for metadata."""
    if marker == 0xE0:
        if payload[2:7] != JFIF:
            return b""
        payload = b"\x00\x10" + payload[2:14] + b"\0\0"  # without the thumbnail
    elif marker == COMMENT or (0xE1 <= marker <= 0xEF and marker != 0xEE):
        return b""
    return bytes((0xFF, marker)) + payload
