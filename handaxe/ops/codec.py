"""Conversion of records to text and bytes and back, for the run record and checkpoints.

Text is JSON in ASCII, so that lone surrogates and control characters of tool replies survive; JSON libraries that write
UTF-8 refuse them. A dataclass becomes an object of its fields. Fields of free content, such as a call's arguments, may
hold values outside JSON: tuples, bytes, numpy arrays, images and mappings with other keys than strings are tagged and
restored. Any other value is stored as its `repr`, so that an odd object in a task does not end a run. Values nested
deeper than KEPT levels are cut there.

An image is {"__image__": [digest, width, height]} where a collector takes the image, to be stored beside the text, and
{"__image__": [digest, width, height, media type, base64]} without a collector.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from handaxe.core.images import FIRST_IMAGE_ID, Image

__all__ = [
    "ImageSource",
    "dump_json",
    "dump_record",
    "dump_text",
    "image_finder",
    "load_json",
    "load_record",
    "load_text",
    "pack",
    "unpack",
]

T = TypeVar("T")
KEPT = 100
"""Levels of free content that are restored."""
LONGEST_INT = 10_000
"""Bits of the largest integer in JSON: Python reads and writes at most 4300 digits."""
TAGS = {"__tuple__", "__pairs__", "__bytes__", "__array__", "__repr__", "__image__"}
ImageSource = Callable[[str, int, int], Image]
"""Returns the image of a digest, a width and a height."""


def pack(array: np.ndarray) -> bytes:
    """Encode an array [N] as dtype, line break and compressed bytes."""
    return array.dtype.str.encode() + b"\n" + zlib.compress(np.ascontiguousarray(array).tobytes(), 1)


def unpack(data: bytes) -> np.ndarray:
    """Decode an array encoded by `pack`."""
    dtype, _, body = data.partition(b"\n")
    return np.frombuffer(zlib.decompress(body), np.dtype(dtype.decode())).copy()


def dump_text(text: str) -> str | bytes:
    """Prepare text for a database column: unchanged, or as bytes if a lone surrogate rules out UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def load_text(text: str | bytes) -> str:
    """Decode text encoded by `dump_text`."""
    return text.decode(errors="surrogatepass") if isinstance(text, bytes) else text


def dump_record(record: Any, images: dict[str, Image] | None = None) -> str:
    """Encode a dataclass of `handaxe.core.records`, or a tuple of dataclasses, as JSON.

    Args:
        record: what to encode.
        images: receives every image by its digest; None writes the images into the text.
    """
    return (ENCODER if images is None else json.JSONEncoder(default=partial(_object, images=images))).encode(record)


def load_record(kind: type[T], text: str, images: ImageSource | None = None) -> T:
    """Decode a record of the given type encoded by `dump_record`; missing fields get their defaults.

    Args:
        kind: type of the record.
        text: JSON.
        images: finds images that are stored beside the text.

    Raises:
        ValueError: an image is stored beside the text, and `images` is None.
    """
    hint: Any = kind
    return _loader(hint)(json.loads(text), images)


def dump_json(value: Any, images: dict[str, Image] | None = None) -> str:
    """Encode any value as tagged JSON. `images`: see `dump_record`."""
    return json.dumps(_tag(value, images))


def load_json(text: str, images: ImageSource | None = None) -> Any:
    """Decode a value encoded by `dump_json`. `images`: see `load_record`."""
    return _untag(json.loads(text), images)


def image_finder(images: Iterable[Image]) -> ImageSource:
    """Make a function that finds images among these by their digest; it raises LookupError for others."""
    found = {image.digest: image for image in images}
    return lambda digest, width, height: found[digest]


def _object(record: Any, images: dict[str, Image] | None = None) -> Any:
    kind: Any = type(record)
    free = _free(kind)
    if free is None:
        return _tag(record, images)
    fields = vars(record)
    if fields.get("images") == ():
        fields = {name: value for name, value in fields.items() if name != "images"}
    return fields | {name: _tag(fields[name], images) for name in free} if free else fields


ENCODER = json.JSONEncoder(default=_object)
Loader = Callable[[Any, ImageSource | None], Any]


@cache
def _free(kind: type) -> tuple[str, ...] | None:
    """List the fields of a dataclass with free content; None for other types."""
    if not is_dataclass(kind):
        return None
    return tuple(name for name, hint in get_type_hints(kind).items() if _is_free(hint))


def _is_free(hint: Any) -> bool:
    return hint is Any or get_origin(hint) is Mapping


@cache
def _loader(hint: Any) -> Loader:
    """Make a function from a value of `json.loads` to a value of the given type."""
    if _is_free(hint) or hint is np.ndarray or hint is Image:
        return _untag
    make: Any = hint
    if is_dataclass(hint):
        return lambda found, images: make(
            **found | {name: maker(found[name], images) for name, maker in _makers(make).items() if name in found}
        )
    if get_origin(hint) is UnionType:  # X | None
        (maker,) = (_loader(one) for one in get_args(hint) if one is not NoneType)
        return lambda found, images: None if found is None else maker(found, images)
    if get_origin(hint) is tuple:
        each = _loader(get_args(hint)[0])
        if each is _plain:
            return lambda found, images: tuple(found)
        return lambda found, images: tuple(each(one, images) for one in found)
    if isinstance(hint, type) and issubclass(hint, tuple):  # a NamedTuple of plain values
        return lambda found, images: hint(*found)
    return _plain


@cache
def _makers(kind: Any) -> dict[str, Loader]:
    """Make loaders for the fields of a dataclass other than plain JSON values. Evaluated on first use, since a
    trajectory may contain trajectories.
    """
    return {name: maker for name, one in get_type_hints(kind).items() if (maker := _loader(one)) is not _plain}


def _plain(found: Any, images: ImageSource | None = None) -> Any:
    del images
    return found


def _tag(value: Any, images: dict[str, Image] | None = None, levels: int = KEPT) -> Any:
    if isinstance(value, int) and value.bit_length() > LONGEST_INT:
        return {"__repr__": hex(value)}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.generic):
        return _tag(value.item(), images)
    if isinstance(value, bytes):
        return {"__bytes__": b64encode(value).decode()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"__array__": [value.dtype.str, _numbers(value)]}
    if isinstance(value, Image):
        return _tag_image(value, images)
    if not isinstance(value, list | tuple | Mapping):
        return {"__repr__": _safe_repr(value)}
    if levels:
        return _tag_items(value, images, levels - 1)
    return {"__repr__": f"<{type(value).__name__}, nested too deep>"}


def _numbers(array: np.ndarray) -> Any:
    """Numbers of an array for JSON; as text if some are ids of image tokens, which most JSON readers would round."""
    if array.dtype.kind in "iu" and array.size and array.max() >= FIRST_IMAGE_ID:
        return array.astype(str).tolist()
    return array.tolist()


def _tag_items(value: Any, images: dict[str, Image] | None, levels: int) -> Any:
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and key not in TAGS for key in value):
            return {key: _tag(item, images, levels) for key, item in value.items()}
        pairs = [[_tag(key, images, levels), _tag(item, images, levels)] for key, item in value.items()]
        return {"__pairs__": pairs}
    items = [_tag(item, images, levels) for item in value]
    return items if isinstance(value, list) else {"__tuple__": items}


def _tag_image(image: Image, images: dict[str, Image] | None) -> Any:
    found = [image.digest, image.width, image.height]
    if images is None:
        return {"__image__": [*found, image.media_type, b64encode(image.data).decode()]}
    images.setdefault(image.digest, image)
    return {"__image__": found}


def _safe_repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # __repr__ of a foreign class may raise anything
        return f"<{type(value).__name__}, repr raises {type(error).__name__}>"


def _untag(value: Any, images: ImageSource | None = None) -> Any:
    if isinstance(value, list):
        return [_untag(item, images) for item in value]
    if not isinstance(value, dict):
        return value
    match next(iter(value.items()), None):
        case ("__tuple__", items):
            return tuple(_untag(item, images) for item in items)
        case ("__pairs__", pairs):
            return {_untag(key, images): _untag(item, images) for key, item in pairs}
        case ("__bytes__", text):
            return b64decode(text)
        case ("__array__", [dtype, items]):
            return np.array(items, np.dtype(dtype))
        case ("__repr__", text):
            return text
        case ("__image__", [digest, width, height, media_type, text]):
            return Image(width, height, digest, data=b64decode(text), media_type=media_type)
        case ("__image__", [digest, width, height]):
            if images is None:
                raise ValueError(f"the image {digest} is not in the text")
            return images(digest, width, height)
    return {key: _untag(item, images) for key, item in value.items()}
