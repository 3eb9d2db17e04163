"""What an object that owns tools may offer besides them, and how to list the tools it owns.

None of the three protocols must be implemented; an object is used for what it can do.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from handaxe.errors import ToolDefinitionError
from handaxe.tools.decorator import Tool

__all__ = ["Closes", "Forks", "Reports", "tools_of"]


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
