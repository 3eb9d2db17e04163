"""Tools that come and go during a rollout: a memory of held tools, and a box to search, remove and call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from handaxe.core.errors import InputError, Retry
from handaxe.core.records import ToolReply
from handaxe.tools.decorator import tool
from handaxe.worlds.toolbox.catalogue import Catalogue, ToolEntry
from handaxe.worlds.toolbox.questions import LONGEST_QUERY, accepts

__all__ = ["HeldBox", "ToolMemory", "ToolStore", "catalogue_store", "fitting_tools"]

MOST_QUERIES = 8
"""Queries of a search."""


class ToolStore(NamedTuple):
    """Tools that can be held.

    retrieve: (query, count) -> names, best first. show: name -> line of a search result. call: (name, arguments) ->
    reply. entry: name -> the tool behind it, for the comparison with the steps of a task.
    """

    retrieve: Callable[[str, int], Sequence[str]]
    show: Callable[[str], str]
    call: Callable[[str, Mapping[str, Any]], ToolReply]
    entry: Callable[[str], ToolEntry | None]


def catalogue_store(catalogue: Catalogue, retrieve: Callable[[str, int], Sequence[str]]) -> ToolStore:
    """Make a store of a catalogue's tools, found by another retriever."""
    return ToolStore(retrieve, lambda name: catalogue.entries[name].shown, catalogue.call, catalogue.entries.get)


class ToolMemory:
    """Names of held tools in the order of their addition, over any number of rollouts.

    Args:
        limit: most tools, 1 or more; None for no limit.

    Attributes:
        held: the names.
        added, removed: counts since the creation.
    """

    def __init__(self, limit: int | None = None):
        if limit is not None and limit < 1:
            raise InputError(f"a memory holds 1 tool or more, not {limit}")
        self.limit = limit
        self.held: tuple[str, ...] = ()
        self.added = self.removed = 0

    def add(self, names: Sequence[str]) -> tuple[str, ...]:
        """Add tools; held ones keep their places.

        Returns:
            The new ones.

        Raises:
            Retry: the limit would be exceeded; nothing is added.

        Example:
            held a b, add(["b", "c"])  ->  ("c",), held a b c
        """
        new = tuple(name for name in dict.fromkeys(names) if name not in self.held)
        if self.limit is not None and len(self.held) + len(new) > self.limit:
            raise Retry(
                f"{len(self.held)} tools are held and {len(new)} would be added, the limit is {self.limit}: "
                "remove tools"
            )
        self.held += new
        self.added += len(new)
        return new

    def remove(self, names: Sequence[str]) -> tuple[str, ...]:
        """Remove tools; names that are not held are skipped.

        Returns:
            The removed ones.
        """
        gone = tuple(name for name in self.held if name in set(names))
        self.held = tuple(name for name in self.held if name not in gone)
        self.removed += len(gone)
        return gone


class HeldBox:
    """Tools `search_tools`, `remove_tools` and `call_tool`. A tool can be called while it is held.

    A call that is accepted for a step of the task returns the result of the step; see `worlds.toolbox.box.ToolBox`.

    Args:
        store: the tools.
        memory: held tools; kept after the rollout.
        steps: of the task.
        results: tools of a query.
    """

    def __init__(self, store: ToolStore, memory: ToolMemory, steps: Sequence[Mapping[str, Any]], *, results: int = 5):
        self._store = store
        self._memory = memory
        self._steps = steps
        self._results = results
        self._made = [False] * len(steps)
        self._calls = self._useful = 0

    @tool(timeout=None, max_chars=200_000)
    def search_tools(self, queries: Annotated[list[str], "what the tools are for, one text a tool"]) -> str:
        """Add tools to the held ones. Each line of the result is a new tool with name, description and parameters."""
        asked = [text for text in queries if text.strip()]
        if not asked or len(asked) > MOST_QUERIES or max(map(len, asked)) > LONGEST_QUERY:
            raise Retry(f"give 1 to {MOST_QUERIES} queries of at most {LONGEST_QUERY} characters")
        found = [name for text in asked for name in self._store.retrieve(text, self._results)]
        new = self._memory.add(found)
        return "\n".join(map(self._store.show, new)) or "no new tools"

    @tool(timeout=None)
    def remove_tools(self, names: Annotated[list[str], "of held tools"]) -> str:
        """Remove held tools."""
        return f"removed {len(self._memory.remove(names))}, held {len(self._memory.held)}"

    @tool(timeout=None)
    def call_tool(
        self, name: Annotated[str, "of a held tool"], arguments: Annotated[dict[str, Any], "of the tool"]
    ) -> str:
        """Call a held tool."""
        self._calls += 1
        if name not in self._memory.held:
            raise Retry(f"the tool {name[:80]!r} is not held: find it with search_tools")
        reply = self._store.call(name, arguments)
        if reply.status != "ok":
            raise Retry(reply.content)
        entry = self._store.entry(name)
        for number, step in enumerate(self._steps):
            if entry is not None and accepts(step, entry, arguments):
                self._made[number] = True
                self._useful += 1
                return str(step["value"])
        return reply.content

    def report(self) -> dict[str, Any]:
        """Steps with a correct call, number of calls and of correct calls, held tools, and counts of the memory."""
        return {
            "made": list(self._made),
            "calls": self._calls,
            "useful": self._useful,
            "held": list(self._memory.held),
            "added": self._memory.added,
            "removed": self._memory.removed,
        }


def fitting_tools(shown: Mapping[str, Mapping[str, Any]], arguments: Mapping[str, Any]) -> list[str]:
    """Names of the tools that have all given parameters and require no further one.

    Example:
        area(radius) and volume(radius, height) with the argument radius  ->  ["area"]
    """
    given = set(arguments)
    return [
        name
        for name, tool in shown.items()
        if set(tool["parameters"].get("required", ())) <= given <= set(tool["parameters"]["properties"])
    ]
