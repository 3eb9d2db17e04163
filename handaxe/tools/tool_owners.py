"""Owners of tools: optional protocols for state, and collection of tools from the user's list.

An object with tools may implement any of the three protocols; none is required.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from handaxe.core.errors import ToolDefinitionError
from handaxe.tools.decorator import Tool

__all__ = [
    "SupportsClose",
    "SupportsFork",
    "SupportsReport",
    "ToolSource",
    "collect_tools",
    "flatten_sources",
    "import_path",
]

ToolSource = Tool | Callable[[], Any]
"""Tool, or function without arguments that makes tools."""


@runtime_checkable
class SupportsFork(Protocol):
    """Copyable state, so that a trajectory can branch."""

    def snapshot(self) -> Any:
        """Return an opaque snapshot that later changes do not affect."""
        ...

    def restore(self, state: Any) -> None:
        """Restore a snapshot of this object or of another object of the class."""
        ...


@runtime_checkable
class SupportsClose(Protocol):
    """Resource to release at the end of a rollout."""

    def close(self) -> None:
        """Release the resource; called once."""
        ...


@runtime_checkable
class SupportsReport(Protocol):
    """Facts about the final state, for rewards."""

    def report(self) -> Mapping[str, Any]:
        """Return the facts as JSON."""
        ...


def flatten_sources(tools: Sequence[ToolSource | Sequence[ToolSource]], *, whose: str) -> list[ToolSource]:
    """Flatten nested lists and tuples of tools and tool factories, and check every entry.

    Args:
        tools: the user's tools and factories.
        whose: noun for the message, for example "rollouts": the state of a method would leak between them.

    Raises:
        ToolDefinitionError: an entry is neither tool nor factory, needs arguments, or is a method; the message has its
            position.
    """
    return _entries(tools, "tools", whose)


def _entries(entry: Any, place: str, whose: str) -> list[ToolSource]:
    if isinstance(entry, list | tuple):
        return [found for n, item in enumerate(entry) for found in _entries(item, f"{place}[{n}]", whose)]
    if isinstance(entry, Tool):
        if entry.owner is not None or entry.unbound:
            raise ToolDefinitionError(
                f"{place} is {entry!r}, a method: its state would leak between {whose}. Pass a factory of new objects, "
                "for example the class, or `lambda: python(seconds=1)`"
            )
    elif not callable(entry):
        raise ToolDefinitionError(
            f"{place}: {ascii(entry)[:80]} is no tool: pass a tool, a list of tools, or a class or function without "
            "arguments that makes tools"
        )
    elif required := _required(entry):
        where = import_path(entry)
        name = where.rpartition(":")[2]
        raise ToolDefinitionError(
            f"{place} is {where}, which needs arguments ({', '.join(required)}): decorate a tool with @tool; "
            f"for a tool factory, pass `{name}(...)`, or `lambda: {name}(...)` for tools with state. For `handaxe "
            "serve`, define the result under a name in your own module"
        )
    return [entry]


def _required(make: Callable[..., Any]) -> list[str]:
    """List the required parameters of a callable."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # some builtins have no signature
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variadic]


def import_path(make: Callable[..., Any]) -> str:
    """Format a class or function as MODULE:ATTRIBUTE, the form that `handaxe serve` takes."""
    return f"{make.__module__}:{getattr(make, '__qualname__', type(make).__name__)}"


def collect_tools(made: Any) -> list[Tool]:
    """Collect the tools in the result of a factory.

    Args:
        made: a tool, an object with tools as methods (in the order of definition, base classes first), or an iterable
            of these.

    Raises:
        ToolDefinitionError: the result contains no tool.
    """
    if isinstance(made, Tool):
        return [made]
    if isinstance(made, Iterable) and not isinstance(made, str):
        return [tool for item in made for tool in collect_tools(item)]
    # An overriding method keeps the position of the first definition.
    names = dict.fromkeys(
        name for kind in reversed(type(made).__mro__) for name, v in vars(kind).items() if _is_tool(v)
    )
    found = [_method(made, name) for name in names]
    tools = [tool for tool in found if tool is not None]
    if not tools:
        raise ToolDefinitionError(f"{made!r} has no tool: decorate a function or its methods with @tool")
    return tools


def _is_tool(value: Any) -> bool:
    return isinstance(value, Tool)


def _method(made: Any, name: str) -> Tool | None:
    """Bind the tool `name` to an object; None if a subclass replaced the method by something else."""
    for kind in type(made).__mro__:
        if name in vars(kind):
            found = vars(kind)[name]
            return found.__get__(made, type(made)) if isinstance(found, Tool) else None
    return None
