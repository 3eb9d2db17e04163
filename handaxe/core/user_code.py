"""Distinguishes the user's code from installed packages: places of errors, and parts with functions of the user."""

import inspect
import sysconfig
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from handaxe.core.errors import InputError

__all__ = ["check_call", "error_place", "is_user_file", "located", "user_function"]

_SCHEMES = [path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_path(name))]
INSTALLED = tuple(str(Path(path).resolve()) for path in (str(Path(__file__).parents[1]), *_SCHEMES))
"""Folders of this package, of the standard library and of installed packages."""


def is_user_file(file: str | None) -> bool:
    """Return True for an existing source file outside the standard library, this package and installed packages."""
    if not file or not Path(file).is_file():
        return False
    found = str(Path(file).resolve())
    return not any(found.startswith(f"{folder}/") for folder in INSTALLED)


def error_place(error: BaseException) -> str:
    """Return the innermost line of the user's code in a traceback; "" for an error without such a line.

    Example:
        error_place(error) -> "/home/me/shop.py, line 12, in my_credit"
    """
    frames = [one for one in traceback.extract_tb(error.__traceback__) if is_user_file(one.filename)]
    return f"{frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name}" if frames else ""


def located(error: BaseException) -> str:
    """Return type and message of an error, after the line of the user's code if there is one.

    Example:
        located(error) -> "/home/me/shop.py, line 12, in my_credit: ZeroDivisionError: division by zero"
    """
    place = error_place(error)
    return f"{f'{place}: ' if place else ''}{type(error).__name__}: {error}"


def user_function(part: Any) -> str:
    """Return the name of the first function or class of the user in a part; "" for a part of installed code alone.

    Closures, partials, attributes and containers of the part are searched. The name of a nested function has no prefix.

    Example:
        user_function(weighted({"answer": (1.0, my_reward)})) -> "my_reward"
    """
    return _search(part, set()).rpartition("<locals>.")[2]


def _search(part: Any, seen: set[int]) -> str:
    if id(part) in seen or isinstance(part, str | int | float | bytes | type(None)):
        return ""
    seen.add(id(part))
    if isinstance(part, partial):
        return _first((part.func, *part.args, *part.keywords.values()), seen)
    if isinstance(part, MethodType):
        return _search(part.__self__, seen)
    if isinstance(part, FunctionType):
        if is_user_file(part.__code__.co_filename):
            return part.__qualname__
        cells = [cell.cell_contents for cell in part.__closure__ or () if _is_filled(cell)]
        return _first((*cells, getattr(part, "__wrapped__", None)), seen)
    if isinstance(part, dict):
        return _first(tuple(part.values()), seen)
    if isinstance(part, list | tuple | set | frozenset):
        return _first(tuple(part), seen)
    call = next((vars(kind)["__call__"] for kind in type(part).__mro__ if "__call__" in vars(kind)), None)
    if isinstance(call, FunctionType):
        if is_user_file(call.__code__.co_filename):
            return type(part).__qualname__
        return _first(tuple(getattr(part, "__dict__", {}).values()), seen)
    return ""


def _first(parts: tuple[Any, ...], seen: set[int]) -> str:
    return next((found for part in parts if (found := _search(part, seen))), "")


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a variable without a value
        return False


def check_call(function: Callable[..., Any], arguments: tuple[str, ...], *, name: str) -> None:
    """Raise InputError for a function of the user that does not take the arguments of its calls.

    Args:
        function: of the user; one without a readable signature passes.
        arguments: names, given by position.
        name: for the message.

    Example:
        check_call(expert, ("task", "facts"), name="the expert shop:expert")
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a function in C
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        plain = [one.replace(annotation=one.empty, default=one.empty) for one in signature.parameters.values()]
        takes = inspect.Signature(plain)
        raise InputError(f"{name} takes {takes}, and is called with ({', '.join(arguments)})") from None
