"""What a user names as MODULE:ATTRIBUTE on a command line or in a file: a tool, a world, a recipe, a reward."""

import importlib
import os
import sys
from typing import Any

from handaxe.errors import InputError

__all__ = ["attribute"]


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
