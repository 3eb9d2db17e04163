"""Tool boxes of a rollout: a search or a choice among a catalogue's tools, and calls of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from handaxe.core.errors import Retry
from handaxe.tools.decorator import tool
from handaxe.worlds.toolbox.catalogue import Catalogue, ToolEntry
from handaxe.worlds.toolbox.questions import LONGEST_QUERY, accepts

__all__ = ["BriefBox", "CallBox", "ChoiceBox", "ToolBox"]

MOST = 20
"""Largest number of tools in a search result; a larger count is reduced to it."""


class CallBox:
    """Calls of a catalogue's tools. A call accepted for a step of the task by the package's rule returns the step's
    result; other valid calls return a digest of function and arguments.

    Args:
        catalogue: the tools.
        steps: of the task; see `worlds.toolbox.questions.make_step`.
    """

    def __init__(self, catalogue: Catalogue, steps: Sequence[Mapping[str, Any]]):
        self._catalogue = catalogue
        self._steps = steps
        self._found = [False] * len(steps)
        self._made = [False] * len(steps)

    def _call(self, name: str, arguments: Mapping[str, Any], source: str) -> str:
        """Call a tool; `source` is the tool that tells names, for the error of an unknown name."""
        entry = self._catalogue.entries.get(name)
        if entry is None:
            raise Retry(f"there is no tool {name[:80]!r}: take a name from the result of {source}")
        reply = self._catalogue.call(name, arguments)
        if reply.status == "invalid":
            raise Retry(reply.content)
        return self._value(entry, arguments, reply.content)

    def _value(self, entry: ToolEntry, arguments: Mapping[str, Any], content: str) -> str:
        for number, step in enumerate(self._steps):
            if accepts(step, entry, arguments):
                self._made[number] = True
                return str(step["value"])
        return content

    def _show(self, entries: Sequence[ToolEntry]) -> str:
        """A line a tool; steps of their functions become found."""
        listed = {entry.function for entry in entries}
        self._found = [before or step["function"] in listed for before, step in zip(self._found, self._steps)]
        return "\n".join(entry.shown for entry in entries)

    def report(self) -> dict[str, list[bool]]:
        """By step: whether a tool of its function was shown ("found"), and whether its call was made ("made")."""
        return {"found": list(self._found), "made": list(self._made)}

    def snapshot(self) -> Any:
        """Values of the report."""
        return tuple(self._found), tuple(self._made)

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        found, made = state
        self._found, self._made = list(found), list(made)


class ToolBox(CallBox):
    """Tools `find_tools` and `call_tool`.

    Args:
        catalogue, steps: as for `CallBox`.
        results: default number of tools in a search result.
    """

    def __init__(self, catalogue: Catalogue, steps: Sequence[Mapping[str, Any]], *, results: int):
        super().__init__(catalogue, steps)
        self._results = results

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
        return self._call(name, arguments, "find_tools")

    def _find(self, query: str, count: int) -> str:
        if not query.strip() or len(query) > LONGEST_QUERY:
            raise Retry(f"the query has {len(query)} characters: give words, at most {LONGEST_QUERY} characters")
        entries = self._catalogue.find(query, min(max(count, 1), MOST))
        if not entries:
            raise Retry("no tool has a word of the query: try other words")
        return self._show(entries)


class BriefBox(ToolBox):
    """Tool box with a single parameter of the search: the tiny policy writes the query without JSON."""

    @tool(timeout=None, max_chars=2_000)
    def find_tools(self, query: Annotated[str, "key words"]) -> str:
        """Search the tools. Each line of the result is a tool with its name, key words and parameters."""
        return self._find(query, self._results)


class ChoiceBox(CallBox):
    """Tools `choose_tools`, once and before the first call, and `call_tool` for the chosen tools.

    Args:
        catalogue, steps: as for `CallBox`.
        offered: names of the tools to choose from.
        limit: most chosen tools.
    """

    def __init__(self, catalogue: Catalogue, steps: Sequence[Mapping[str, Any]], *, offered: Sequence[str], limit: int):
        super().__init__(catalogue, steps)
        self._offered, self._limit = frozenset(offered), limit
        self._chosen: tuple[str, ...] = ()

    @tool(timeout=None, max_chars=200_000)
    def choose_tools(self, names: Annotated[list[str], "of listed tools"]) -> str:
        """Choose the tools for the task, once. Each line of the result is a tool with its parameters."""
        chosen = tuple(dict.fromkeys(names))
        unknown = [name for name in chosen if name not in self._offered]
        if self._chosen:
            raise Retry(f"{len(self._chosen)} tools are chosen already: call them with call_tool")
        if not 1 <= len(chosen) <= self._limit:
            raise Retry(f"{len(chosen)} tools were named: choose 1 to {self._limit}")
        if unknown:
            raise Retry(f"there is no tool {unknown[0][:80]!r}: take names from the list")
        self._chosen = chosen
        return self._show([self._catalogue.entries[name] for name in chosen])

    @tool(timeout=None)
    def call_tool(
        self, name: Annotated[str, "of a chosen tool"], arguments: Annotated[dict[str, Any], "of the tool"]
    ) -> str:
        """Call a tool that was chosen."""
        if name not in self._chosen:
            raise Retry(f"the tool {name[:80]!r} is not chosen: choose_tools comes first, and once")
        return self._call(name, arguments, "choose_tools")

    def report(self) -> dict[str, Any]:
        """Steps found and made, and the names of the chosen tools."""
        return {**super().report(), "chosen": list(self._chosen)}

    def snapshot(self) -> Any:
        """Values of the report."""
        return super().snapshot(), self._chosen

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        steps, self._chosen = state
        super().restore(steps)
