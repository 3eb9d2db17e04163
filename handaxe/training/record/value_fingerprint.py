"""Fingerprints of values as bytes: functions by code and closure, objects by class and attributes."""

from __future__ import annotations

import functools
import hashlib
import pickle
import platform
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

import handaxe
from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.images import Image

__all__ = ["code_version", "fingerprint"]

PLAIN = (bool, int, float, complex, str, bytes, range, PurePath, Enum, re.Pattern, np.generic)
MEMBERS = (FunctionType, str, int, float, tuple)
IMMUTABLE = 1 << 8  # CPython's flag of classes written in C
PLACES = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
CALLED = ("__call__", "__init__", "__enter__", "__exit__", "__getattr__")


def fingerprint(value: Any, where: str = "the argument") -> Iterator[bytes]:
    """Yield bytes that are equal for equal values, also across processes.

    A function is its code, defaults and closure; an object is its class, the code of its methods, and its attributes;
    code of installed packages enters by name only. Other globals that a function reads from its module are not covered;
    `code_version` covers handaxe's source as a whole.

    Args:
        value: JSON-like values, arrays, dataclasses, functions, objects.
        where: for the message.

    Raises:
        InputError: a value without a fingerprint, such as an open file.
    """
    yield from _of(value, where, ())


@functools.cache
def code_version() -> str:
    """Digest of handaxe's source and of the versions of Python and torch."""
    made = hashlib.sha256(f"{platform.python_version()} {torch.__version__} ".encode())
    root = Path(handaxe.__file__).parent
    for file in sorted(root.rglob("*.py")):
        made.update(f"{file.relative_to(root).as_posix()} ".encode() + file.read_bytes())
    return made.hexdigest()


def _of(value: Any, where: str, inside: tuple[int, ...]) -> Iterator[bytes]:
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}:".encode()
    if value is None or isinstance(value, (*PLAIN, torch.dtype, torch.device)):
        yield repr(value).encode()
    elif isinstance(value, Image):
        yield value.digest.encode()
    elif isinstance(value, (np.ndarray, torch.Tensor)):
        array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
        yield f"{array.dtype} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes()
    elif id(value) in inside:
        yield f"again {len(inside) - inside.index(id(value))}".encode()
    elif isinstance(value, (type, ModuleType, BuiltinFunctionType)):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}".encode()
        if isinstance(value, type):
            yield from _class(value, where, (*inside, id(value)))
    else:
        for name, part in _parts(value, where):
            yield f"{name}=".encode()
            yield from _of(part, f"{where}.{name}", (*inside, id(value)))


def _parts(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Components of a value, by name."""
    if isinstance(value, Mapping):
        for k, (key, item) in enumerate(value.items()):
            yield f"key {k}", key
            yield f"{key!r}"[:40], item
    elif isinstance(value, (list, tuple)):
        yield from ((str(k), item) for k, item in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        yield from ((str(k), item) for k, item in enumerate(sorted(value, key=repr)))
    elif isinstance(value, functools.partial):
        yield from (("func", value.func), ("args", value.args), ("keywords", value.keywords))
    elif isinstance(value, MethodType):
        yield from (("function", value.__func__), ("self", value.__self__))
    elif isinstance(value, CodeType):
        yield from (("code", value.co_code), ("names", value.co_names), ("constants", value.co_consts))
    elif isinstance(value, FunctionType):
        cells = value.__closure__ or ()
        held = dict(zip(value.__code__.co_freevars, (_content(cell) for cell in cells), strict=True))
        yield from (("name", f"{value.__module__}.{value.__qualname__}"), ("code", value.__code__), ("closure", held))
        yield from (("defaults", value.__defaults__), ("keywords", value.__kwdefaults__))
    elif type(value).__module__ == "_thread":
        pass  # a lock has no content
    elif not _opaque(type(value)):
        yield "class", type(value)
        names = [name for one in type(value).__mro__ for name in _slots(one)]
        yield from ((name, getattr(value, name)) for name in names if hasattr(value, name))
        yield from sorted(getattr(value, "__dict__", {}).items())
    else:
        yield "pickle", _pickled(value, where)


def _pickled(value: Any, where: str) -> bytes:
    """Pickle a value whose state is stored in C."""
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise InputError(
            f"{where} is {type(value).__name__}, of which it cannot be told whether it is the same as in another run "
            f"({error}): let the stage not be shared, or make it in a function when it is needed"
        ) from error


def _class(value: type, where: str, inside: tuple[int, ...]) -> Iterator[bytes]:
    """Code of a user-defined class and its bases."""
    for one in value.__mro__:
        if _installed(one.__module__):
            continue
        for name, part in sorted(vars(one).items()):
            found = getattr(part, "__func__", part)
            if name in CALLED or (isinstance(found, MEMBERS) and not name.startswith("__")):
                yield f"{name}=".encode()
                yield from _of(found, f"{where}.{name}", inside)


def _installed(name: str) -> bool:
    """True for modules of handaxe and installed packages, which enter by name."""
    if name.split(".")[0] in ("handaxe", "builtins"):
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and any(Path(file).is_relative_to(place) for place in PLACES)


def _opaque(kind: type) -> bool:
    """True if instances store part of their state in C, out of reach."""
    return any(_written_in_c(one) for one in kind.__mro__ if one is not object and one.__module__ != "typing")


def _written_in_c(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    source = module is None or module.__name__ == "__main__" or (getattr(module, "__file__", "") or "").endswith(".py")
    return not source or bool(kind.__flags__ & IMMUTABLE)


def _slots(kind: type) -> tuple[str, ...]:
    found = vars(kind).get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name without a value yet
        return None
