"""Conversion of records to text and bytes and back, for the run record and checkpoints.

Text is JSON in ASCII, so that lone surrogates and control characters of tool replies survive; JSON libraries that write
UTF-8 refuse them. A dataclass becomes an object of its fields. Fields of free content, such as a call's arguments, may
hold values outside JSON: tuples, bytes, numpy arrays and mappings with other keys than strings are tagged and restored.
Any other value is stored as its `repr`, so that an odd object in a task does not end a run. Values nested deeper than
KEPT levels are cut there.
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
"""Levels of free content that are restored."""
LONGEST_INT = 10_000
"""Bits of the largest integer in JSON: Python reads and writes at most 4300 digits."""
TAGS = {"__tuple__", "__pairs__", "__bytes__", "__array__", "__repr__"}


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


def dump_record(record: Any) -> str:
    """Encode a dataclass of `handaxe.core.records`, or a tuple of dataclasses, as JSON."""
    return ENCODER.encode(record)


def load_record(kind: type[T], text: str) -> T:
    """Decode a record of the given type encoded by `dump_record`; missing fields get their defaults."""
    hint: Any = kind
    return _loader(hint)(json.loads(text))


def dump_json(value: Any) -> str:
    """Encode any value as tagged JSON."""
    return json.dumps(_tag(value))


def load_json(text: str) -> Any:
    """Decode a value encoded by `dump_json`."""
    return _untag(json.loads(text))


def _object(record: Any) -> Any:
    kind: Any = type(record)
    free = _free(kind)
    if free is None:
        return _tag(record)
    fields = vars(record)
    return fields | {name: _tag(fields[name]) for name in free} if free else fields


ENCODER = json.JSONEncoder(default=_object)


@cache
def _free(kind: type) -> tuple[str, ...] | None:
    """List the fields of a dataclass with free content; None for other types."""
    if not is_dataclass(kind):
        return None
    return tuple(name for name, hint in get_type_hints(kind).items() if _is_free(hint))


def _is_free(hint: Any) -> bool:
    return hint is Any or get_origin(hint) is Mapping


@cache
def _loader(hint: Any) -> Callable[[Any], Any]:
    """Make a function from a value of `json.loads` to a value of the given type."""
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
    """Make loaders for the fields of a dataclass other than plain JSON values. Evaluated on first use, since a
    trajectory may contain trajectories.
    """
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
        return {"__repr__": _safe_repr(value)}
    return _tag_items(value, levels - 1) if levels else {"__repr__": f"<{type(value).__name__}, nested too deep>"}


def _tag_items(value: Any, levels: int) -> Any:
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and key not in TAGS for key in value):
            return {key: _tag(item, levels) for key, item in value.items()}
        return {"__pairs__": [[_tag(key, levels), _tag(item, levels)] for key, item in value.items()]}
    items = [_tag(item, levels) for item in value]
    return items if isinstance(value, list) else {"__tuple__": items}


def _safe_repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # __repr__ of a foreign class may raise anything
        return f"<{type(value).__name__}, repr raises {type(error).__name__}>"


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
