"""Tool box of a rollout: search and calls of a catalogue's tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from handaxe.core.errors import Retry
from handaxe.tools.decorator import tool
from handaxe.worlds.toolbox.catalogue import Catalogue, ToolEntry
from handaxe.worlds.toolbox.questions import LONGEST_QUERY, accepts

__all__ = ["BriefBox", "ToolBox"]

MOST = 20
"""Largest number of tools in a search result; a larger count is reduced to it."""


class ToolBox:
    """Tools `find_tools` and `call_tool`. A call accepted for a step of the task by the package's rule returns the
    step's result; other valid calls return a digest of function and arguments.

    Args:
        catalogue: the tools.
        steps: of the task; see `worlds.toolbox.questions.make_step`.
        results: default number of tools in a search result.
    """

    def __init__(self, catalogue: Catalogue, steps: Sequence[Mapping[str, Any]], *, results: int):
        self._catalogue, self._results = catalogue, results
        self._steps = steps
        self._found = [False] * len(steps)
        self._made = [False] * len(steps)

    @tool(timeout=None, max_chars=200_000)
    def find_tools(
        self,
        query: Annotated[str, "what the tool is for"],
        count: Annotated[int | None, "how many tools, at most 20"] = None,
    ) -> str:
        """Search the tools. Each line of the result is a tool with its name, description and parameters."""
        return self._find(query, self._results if count is None else count)

    @tool(timeout=None)
    def call_tool(
        self, name: Annotated[str, "of a tool from find_tools"], arguments: Annotated[dict[str, Any], "of the tool"]
    ) -> str:
        """Call a tool that find_tools found."""
        entry = self._catalogue.entries.get(name)
        if entry is None:
            raise Retry(f"there is no tool {name[:80]!r}: take a name from the result of find_tools")
        reply = self._catalogue.call(name, arguments)
        if reply.status == "invalid":
            raise Retry(reply.content)
        return self._value(entry, arguments, reply.content)

    def _find(self, query: str, count: int) -> str:
        if not query.strip() or len(query) > LONGEST_QUERY:
            raise Retry(f"the query has {len(query)} characters: give words, at most {LONGEST_QUERY} characters")
        entries = self._catalogue.find(query, min(max(count, 1), MOST))
        if not entries:
            raise Retry("no tool has a word of the query: try other words")
        listed = {entry.function for entry in entries}
        self._found = [before or step["function"] in listed for before, step in zip(self._found, self._steps)]
        return "\n".join(entry.shown for entry in entries)

    def _value(self, entry: ToolEntry, arguments: Mapping[str, Any], content: str) -> str:
        for number, step in enumerate(self._steps):
            if accepts(step, entry, arguments):
                self._made[number] = True
                return str(step["value"])
        return content

    def report(self) -> dict[str, list[bool]]:
        """By step: whether a search result had its function ("found"), and whether its call was made ("made")."""
        return {"found": list(self._found), "made": list(self._made)}

    def snapshot(self) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Values of the report."""
        return tuple(self._found), tuple(self._made)

    def restore(self, state: tuple[tuple[bool, ...], tuple[bool, ...]]) -> None:
        """Restore a snapshot."""
        found, made = state
        self._found, self._made = list(found), list(made)


class BriefBox(ToolBox):
    """Tool box with a single parameter of the search: the tiny policy writes the query without JSON."""

    @tool(timeout=None, max_chars=2_000)
    def find_tools(self, query: Annotated[str, "key words"]) -> str:
        """Search the tools. Each line of the result is a tool with its name, key words and parameters."""
        return self._find(query, self._results)
