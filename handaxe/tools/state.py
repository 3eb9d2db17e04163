"""What an object that owns tools may offer besides them, how to list the tools it owns, and what may be offered.

None of the three protocols must be implemented; an object is used for what it can do.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from handaxe.core.errors import ToolDefinitionError
from handaxe.tools.decorator import Tool

__all__ = ["Closes", "Forks", "Offered", "Reports", "address_of", "entries_of", "tools_of"]

Offered = Tool | Callable[[], Any]
"""A tool, or what makes tools."""


@runtime_checkable
class Forks(Protocol):
    """State that can be copied, so that a trajectory can branch."""

    def snapshot(self) -> Any:
        """An opaque value that later changes do not touch."""
        ...

    def restore(self, state: Any) -> None:
        """Go back to a snapshot, of this or of another object of the same kind."""
        ...


@runtime_checkable
class Closes(Protocol):
    """Something to release when the rollout is over."""

    def close(self) -> None:
        """Called once."""
        ...


@runtime_checkable
class Reports(Protocol):
    """Facts about the final state, for rewards."""

    def report(self) -> Mapping[str, Any]:
        """JSON."""
        ...


def entries_of(tools: Sequence[Offered | Sequence[Offered]], *, whose: str) -> list[Offered]:
    """The tools and the functions that make tools among those offered; lists and tuples of them are opened.

    Args:
        tools: what the user offers.
        whose: among whom the state of a method would leak, for the message.

    Raises:
        ToolDefinitionError: an entry that is no tool and makes none, needs arguments, or is a method; it says which.
    """
    return _entries(tools, "tools", whose)


def _entries(entry: Any, place: str, whose: str) -> list[Offered]:
    if isinstance(entry, list | tuple):
        return [found for n, item in enumerate(entry) for found in _entries(item, f"{place}[{n}]", whose)]
    if isinstance(entry, Tool):
        if entry.owner is not None or entry.unbound:
            raise ToolDefinitionError(
                f"{place} is {entry!r}, a method: its state would leak between {whose}. Pass what makes a new object "
                "for each one, for example the class, or `lambda: python(seconds=1)`"
            )
    elif not callable(entry):
        raise ToolDefinitionError(
            f"{place}: {ascii(entry)[:80]} is no tool: pass a tool, a list of tools, or a class or function "
            "that makes them without arguments"
        )
    elif needed := _needed(entry):
        where = address_of(entry)
        name = where.rpartition(":")[2]
        raise ToolDefinitionError(
            f"{place} is {where}, which needs arguments ({', '.join(needed)}): decorate it with @tool if it is a tool; "
            f"if it makes tools, pass `{name}(...)`, or `lambda: {name}(...)` if they keep state. For `handaxe serve` "
            "give that a name in a module of your own"
        )
    return [entry]


def _needed(make: Callable[..., Any]) -> list[str]:
    """Parameters without which it cannot be called."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):  # a few builtins do not say
        return []
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in free]


def address_of(make: Callable[..., Any]) -> str:
    """MODULE:ATTRIBUTE of a class or function, as `handaxe serve` takes it."""
    return f"{make.__module__}:{getattr(make, '__qualname__', type(make).__name__)}"


def tools_of(made: Any) -> list[Tool]:
    """The tools in what a factory made.

    Args:
        made: a tool, an object with methods that are tools (in the order of their definition, those of base classes
            first), or an iterable of these.

    Raises:
        ToolDefinitionError: there is none.
    """
    if isinstance(made, Tool):
        return [made]
    if isinstance(made, Iterable) and not isinstance(made, str):
        return [tool for item in made for tool in tools_of(item)]
    # An overriding method stands where the base class defined it first.
    names = dict.fromkeys(name for kind in reversed(type(made).__mro__) for name, v in vars(kind).items() if _is(v))
    found = [_method(made, name) for name in names]
    tools = [tool for tool in found if tool is not None]
    if not tools:
        raise ToolDefinitionError(f"{made!r} has no tool: decorate a function or its methods with @tool")
    return tools


def _is(value: Any) -> bool:
    return isinstance(value, Tool)


def _method(made: Any, name: str) -> Tool | None:
    """The tool `name` bound to `made`, or None where a subclass made something else of it."""
    for kind in type(made).__mro__:
        if name in vars(kind):
            found = vars(kind)[name]
            return found.__get__(made, type(made)) if isinstance(found, Tool) else None
    return None
