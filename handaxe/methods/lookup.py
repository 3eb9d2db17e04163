"""Finds a method, world, tool, engine, curriculum or pipeline by name, for command lines and pages.

    methods    folders below handaxe/baselines and handaxe/papers        entry points: handaxe.papers
    worlds     handaxe/worlds/__init__.pyi, and files beside a paper     entry points: handaxe.worlds
    tools      handaxe/tools/__init__.pyi                                entry points: handaxe.tools
    engines    handaxe/engines/__init__.pyi, without the ending Engine   entry points: handaxe.engines
    curricula  handaxe/curricula/__init__.pyi                            entry points: handaxe.curricula
    pipelines  handaxe/synthesis/pipelines/__init__.pyi, and paper.toml  entry points: handaxe.pipelines

MODULE:ATTRIBUTE names an object of the user's own.
"""

import difflib
import functools
import importlib
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any, Literal

from handaxe import curricula, engines, tools, worlds
from handaxe.core.errors import InputError, MethodError
from handaxe.core.import_string import attribute
from handaxe.methods.catalog import find_method, list_methods, list_parts
from handaxe.synthesis import pipelines

__all__ = ["Kind", "check_name", "find", "find_tools", "list_names"]

Kind = Literal["methods", "worlds", "tools", "engines", "curricula", "pipelines"]
SINGULAR = {
    "methods": "method",
    "worlds": "world",
    "tools": "tool",
    "engines": "engine",
    "curricula": "curriculum",
    "pipelines": "pipeline",
}
NO_NAMES = {
    "worlds": {"World", "mixture", "parts"},
    "tools": {"Billed", "Tool", "ToolContext", "noisy", "serve", "tool", "tool_from_schema", "truncate"}
    | {"ask", "http", "mcp", "search", "sql"},  # tools with required arguments
    "engines": set[str](),
    "curricula": {"interleaved", "task_pool", "tip_pool"},  # of mixtures, of stages, of rollouts with tips
    "pipelines": set[str](),
}
"""Exports of a package without a name on the command line: other objects, and tools with required arguments."""
MIXTURE = {"mixture": "handaxe.methods.named_mixture"}
"""A world that finds other worlds by name."""


def list_names(kind: Kind) -> list[str]:
    """Every name of a kind, sorted."""
    if kind == "methods":
        return [one.name for one in list_methods()]
    return sorted({*_exported(kind), *_plugins(kind), *_of_papers(kind)})


def find(kind: Kind, name: str) -> Any:
    """Import the object of a name.

    Args:
        kind: of the object.
        name: one of `list_names(kind)`, or MODULE:ATTRIBUTE.

    Raises:
        InputError: nothing has that name (MethodError for a method); the message lists close matches.
    """
    if ":" in name:
        return attribute(name, noun=SINGULAR[kind], example=f"my_file:my_{SINGULAR[kind]}")
    if kind == "methods":
        if (method := find_method(name)) is not None:
            return getattr(importlib.import_module(method.module), name)
    elif name in (exported := _exported(kind)):
        return getattr(PACKAGES[kind], exported[name])
    elif (plugin := _plugins(kind).get(name)) is not None:
        return plugin.load()
    elif (module := _of_papers(kind).get(name)) is not None:
        return getattr(importlib.import_module(module), name)
    raise _unknown(kind, name, list_names(kind))


def check_name(kind: Kind, name: str) -> None:
    """Raise InputError as `find` does if nothing has the name. Imports nothing; MODULE:ATTRIBUTE always passes."""
    if ":" not in name and name not in (known := list_names(kind)):
        raise _unknown(kind, name, known)


def find_tools(names: Sequence[str]) -> list[Any]:
    """Find tools by name or MODULE:ATTRIBUTE; the name "none" alone gives no tool.

    Raises:
        InputError: nothing has one of the names.
    """
    return [] if list(names) == ["none"] else [find("tools", name) for name in names]


PACKAGES: dict[str, Any] = {
    "worlds": worlds,
    "tools": tools,
    "engines": engines,
    "curricula": curricula,
    "pipelines": pipelines,
}


def _exported(kind: Kind) -> dict[str, str]:
    """Name on the command line -> name in the stub of the package."""
    names = [name for name in PACKAGES[kind].__all__ if name not in NO_NAMES[kind]]
    if kind == "engines":
        return {name.removesuffix("Engine").lower(): name for name in names if name.endswith("Engine")}
    return {name: name for name in names}


@functools.cache
def _plugins(kind: Kind) -> dict[str, Any]:
    """Entry points of installed packages, which are found by reading the metadata of all of them."""
    return {point.name: point for point in entry_points(group=f"handaxe.{kind}")}


def _of_papers(kind: Kind) -> dict[str, str]:
    """Name -> module of the worlds and pipelines of papers."""
    return _paper_worlds() if kind == "worlds" else list_parts("pipelines") if kind == "pipelines" else {}


def _paper_worlds() -> dict[str, str]:
    """World -> module: a file beside the page of a method, worlds that pages name, and the mixture."""
    found = {**MIXTURE, **list_parts("worlds")}
    for one in list_methods():
        name = one.page.world.partition(" ")[0]
        if (one.folder / f"{name}.py").is_file():
            package = one.module.removesuffix(f".{one.name}") if one.file.stem == one.name else one.module
            found[name] = f"{package}.{name}"
    return found


def _unknown(kind: Kind, name: str, known: list[str]) -> InputError:
    if close := difflib.get_close_matches(name, known, n=3, cutoff=0.5):
        hint = f"; did you mean {' or '.join(close)}?"
    elif kind == "methods":
        hint = "; `handaxe methods` lists them"
    else:
        hint = f"; there are {', '.join(known)}, and MODULE:ATTRIBUTE of your own"
    return (MethodError if kind == "methods" else InputError)(f"there is no {SINGULAR[kind]} {name!r}{hint}")
