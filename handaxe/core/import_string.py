"""Import of objects by MODULE:ATTRIBUTE or by the name of an export."""

import difflib
import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from handaxe.core.errors import HandaxeError, InputError

__all__ = ["attribute", "exports", "named"]


def attribute(where: str, *, noun: str, example: str) -> Any:
    """Import an object by MODULE:ATTRIBUTE; modules in the current folder are found.

    Args:
        where: such as my_file:my_name.
        noun: kind of the object, for messages, such as "tool".
        example: an existing name, for messages.

    Raises:
        InputError: `where` has another form, or the module or attribute does not exist.

    Example:
        attribute("handaxe.tools.calculator:calculator", noun="tool", example="my_file:my_tool")
    """
    module, _, name = where.partition(":")
    if not module or not name:
        raise InputError(f"{where!r} names no {noun}: write MODULE:ATTRIBUTE, such as {example}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    made = _imported(module, where, noun)
    if not hasattr(made, name):
        public = [one for one in vars(made) if not one.startswith("_")]
        raise InputError(f"there is no {noun} {where!r}: module {module!r} has no {name!r}{_close(name, public)}")
    return getattr(made, name)


def named(where: str, *, package: str, noun: str) -> Any:
    """Import an export of a package by name, or any object by MODULE:ATTRIBUTE.

    Args:
        where: such as exact_match, or my_file:my_reward.
        package: such as handaxe.rewards; its `__all__` lists the names.
        noun: kind of the object, for messages, such as "reward".

    Raises:
        InputError: no object has this name; the message lists close matches.

    Example:
        named("exact_match", package="handaxe.rewards", noun="reward") is handaxe.rewards.exact_match
    """
    if ":" in where:
        return attribute(where, noun=noun, example=f"my_file:my_{noun}")
    names = exports(package)
    if where not in names:
        hint = _close(where, names) or f"; there are {', '.join(names)}, and MODULE:ATTRIBUTE of your own"
        raise InputError(f"there is no {noun} {where!r}{hint}")
    return getattr(importlib.import_module(package), where)


def exports(package: str) -> list[str]:
    """Sorted names in the stub of a package."""
    return [name for name in sorted(importlib.import_module(package).__all__) if name[0].islower()]


def _imported(module: str, where: str, noun: str) -> Any:
    try:
        return importlib.import_module(module)
    except HandaxeError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise InputError(f"{noun} {where!r} cannot be imported: {_place(error)}") from error
        files = [file.stem for file in Path.cwd().glob("*.py")]
        raise InputError(
            f"there is no {noun} {where!r}: no module {module!r} in {Path.cwd()} or installed{_close(module, files)}"
        ) from None
    except Exception as error:
        raise InputError(f"{noun} {where!r} cannot be imported: {_place(error)}") from error


def _place(error: Exception) -> str:
    """Error and source line of its origin."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}, line {last.lineno}: {type(error).__name__}: {error}"


def _close(name: str, there: list[str]) -> str:
    close = difflib.get_close_matches(name, there, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""
