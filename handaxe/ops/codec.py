"""Records as text and bytes and back, for the run record and checkpoints.

Text is JSON in ASCII, so that lone surrogates and control characters in what a tool said survive (JSON libraries that
write UTF-8 refuse them). A dataclass is an object of its fields. Fields of free content, such as the arguments of a
call, may hold what JSON lacks, which is tagged: tuples, bytes, numpy arrays and mappings whose keys are not strings
come back as they were. Anything else comes back as its `repr`: a record is for reading, and one odd object in a task
must not end a run. The same holds for what nests deeper than KEPT levels, from there on.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

__all__ = ["dump_json", "dump_record", "dump_text", "load_json", "load_record", "load_text", "pack", "unpack"]

T = TypeVar("T")
KEPT = 100
"""Levels of free content that come back as they were."""
LONGEST_INT = 10_000
"""Bits of a whole number that JSON may hold: Python reads and writes 4300 digits."""
TAGS = {"__tuple__", "__pairs__", "__bytes__", "__array__", "__repr__"}


def pack(array: np.ndarray) -> bytes:
    """A one-dimensional array as its dtype, a line break and its compressed bytes."""
    return array.dtype.str.encode() + b"\n" + zlib.compress(np.ascontiguousarray(array).tobytes(), 1)


def unpack(data: bytes) -> np.ndarray:
    """The array that `pack` was given, of the same dtype."""
    dtype, _, body = data.partition(b"\n")
    return np.frombuffer(zlib.decompress(body), np.dtype(dtype.decode())).copy()


def dump_text(text: str) -> str | bytes:
    """Text for a column of its own: as it is, or as bytes where a lone surrogate keeps it from being UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def load_text(text: str | bytes) -> str:
    """What `dump_text` was given."""
    return text.decode(errors="surrogatepass") if isinstance(text, bytes) else text


def dump_record(record: Any) -> str:
    """A dataclass of `handaxe.core.records`, or a tuple of them, as JSON."""
    return ENCODER.encode(record)


def load_record(kind: type[T], text: str) -> T:
    """What `dump_record` was given, which was of this type; fields that are not there have their defaults."""
    hint: Any = kind
    return _loader(hint)(json.loads(text))


def dump_json(value: Any) -> str:
    """Any value as tagged JSON."""
    return json.dumps(_tag(value))


def load_json(text: str) -> Any:
    """What `dump_json` was given."""
    return _untag(json.loads(text))


def _object(record: Any) -> Any:
    kind: Any = type(record)
    free = _free(kind)
    if free is None:
        return _tag(record)
    found = vars(record)
    return found | {name: _tag(found[name]) for name in free} if free else found


ENCODER = json.JSONEncoder(default=_object)


@cache
def _free(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass that may hold anything; None for what is no dataclass."""
    if not is_dataclass(kind):
        return None
    return tuple(name for name, hint in get_type_hints(kind).items() if _is_free(hint))


def _is_free(hint: Any) -> bool:
    return hint is Any or get_origin(hint) is Mapping


@cache
def _loader(hint: Any) -> Callable[[Any], Any]:
    """What makes a value of this type of what `json.loads` gave."""
    if _is_free(hint):
        return _untag
    make: Any = hint
    if hint is np.ndarray:
        return _untag
    if is_dataclass(hint):
        return lambda found: make(
            **found | {name: maker(found[name]) for name, maker in _makers(make).items() if name in found}
        )
    if get_origin(hint) is UnionType:  # X | None
        (maker,) = (_loader(one) for one in get_args(hint) if one is not NoneType)
        return lambda found: None if found is None else maker(found)
    if get_origin(hint) is tuple:
        each = _loader(get_args(hint)[0])
        return tuple if each is _plain else lambda found: tuple(map(each, found))
    if isinstance(hint, type) and issubclass(hint, tuple):  # a NamedTuple of plain values
        return lambda found: hint(*found)
    return _plain


@cache
def _makers(kind: Any) -> dict[str, Callable[[Any], Any]]:
    """What makes the fields of a dataclass that JSON does not give as they are. Asked for when a first one is loaded,
    since a trajectory may hold trajectories."""
    return {name: maker for name, one in get_type_hints(kind).items() if (maker := _loader(one)) is not _plain}


def _plain(found: Any) -> Any:
    return found


def _tag(value: Any, levels: int = KEPT) -> Any:
    if isinstance(value, int) and value.bit_length() > LONGEST_INT:
        return {"__repr__": hex(value)}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.generic):
        return _tag(value.item())
    if isinstance(value, bytes):
        return {"__bytes__": b64encode(value).decode()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"__array__": [value.dtype.str, value.tolist()]}
    if not isinstance(value, list | tuple | Mapping):
        return {"__repr__": _shown(value)}
    return _tag_items(value, levels - 1) if levels else {"__repr__": f"<{type(value).__name__}, nested too deep>"}


def _tag_items(value: Any, levels: int) -> Any:
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and key not in TAGS for key in value):
            return {key: _tag(item, levels) for key, item in value.items()}
        return {"__pairs__": [[_tag(key, levels), _tag(item, levels)] for key, item in value.items()]}
    items = [_tag(item, levels) for item in value]
    return items if isinstance(value, list) else {"__tuple__": items}


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # its class is somebody else's
        return f"<{type(value).__name__}, of which repr raises {type(error).__name__}>"


def _untag(value: Any) -> Any:
    if isinstance(value, list):
        return [_untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    match next(iter(value.items()), None):
        case ("__tuple__", items):
            return tuple(_untag(item) for item in items)
        case ("__pairs__", pairs):
            return {_untag(key): _untag(item) for key, item in pairs}
        case ("__bytes__", text):
            return b64decode(text)
        case ("__array__", [dtype, items]):
            return np.array(items, np.dtype(dtype))
        case ("__repr__", text):
            return text
    return {key: _untag(item) for key, item in value.items()}
