"""What a user names as MODULE:ATTRIBUTE on a command line or in a file: a tool, a world, a recipe, a reward."""

import ast
import difflib
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from handaxe.errors import InputError

__all__ = ["attribute", "named", "names_in"]


def attribute(where: str, *, noun: str, example: str) -> Any:
    """Import what `where` names; modules in the current folder are found.

    Args:
        where: such as my_file:my_name.
        noun: what it should be, for messages, such as "tool".
        example: a name that exists, for messages.

    Raises:
        InputError: it is not of that shape, or there is no such module or attribute.

    Example:
        attribute("handaxe.tools.calculator:calculator", noun="tool", example="my_file:my_tool")
    """
    module, _, name = where.partition(":")
    if not module or not name:
        raise InputError(f"{where!r} names no {noun}: write MODULE:ATTRIBUTE, such as {example}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"there is no {noun} {where!r}: {error}") from error


def named(where: str, *, room: str, noun: str) -> Any:
    """The factory in a file of a folder, by the file's name, or what MODULE:ATTRIBUTE names.

    Args:
        where: such as exact_match, or my_file:my_reward.
        room: the folder as a package, such as handaxe.rewards.
        noun: what it should be, for messages, such as "reward".

    Raises:
        InputError: there is none of that name; the message has those that come close.

    Example:
        named("exact_match", room="handaxe.rewards", noun="reward") is handaxe.rewards.exact_match.exact_match
    """
    if ":" in where:
        return attribute(where, noun=noun, example=f"my_file:my_{noun}")
    names = names_in(room)
    if where not in names:
        close = difflib.get_close_matches(where, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(names)}"
        raise InputError(f"there is no {noun} {where!r}; {hint} One of your own is MODULE:ATTRIBUTE")
    return getattr(importlib.import_module(f"{room}.{where}"), where)


def names_in(room: str) -> list[str]:
    """Names of the files of a folder that define a public function or class of the file's name."""
    folder = Path(str(importlib.import_module(room).__file__)).parent
    return sorted(path.stem for path in folder.glob("[a-z]*.py") if _defines(path))


def _defines(path: Path) -> bool:
    return any(
        isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == path.stem
        for node in ast.parse(path.read_text()).body
    )
