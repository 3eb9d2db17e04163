"""Store of an MCP server's tools with an index, synchronized or not."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from handaxe.core.errors import Retry
from handaxe.core.records import ToolReply, ToolSchema
from handaxe.papers.scale_mcp.sync_index import Changes, SyncedIndex
from handaxe.tools.mcp_session import McpSession
from handaxe.worlds.toolbox.catalogue import ToolEntry
from handaxe.worlds.toolbox.held_tools import ToolStore

__all__ = ["McpStore", "schema_entry"]


def schema_entry(schema: ToolSchema) -> ToolEntry:
    """Make a catalogue entry of a server's tool; its function is its name.

    Example:
        the schema area_circle(radius) has the line {"name":"area_circle",...} in search results
    """
    shown = {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
    line = json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
    parameters = {"properties": {}, **schema.parameters}
    return ToolEntry(schema.name, schema.name, {**shown, "parameters": parameters}, "", "", line)


class McpStore:
    """Tools of a server: search in an index, calls over the session.

    Args:
        session: with the server.
        synced: the index.
        entry: name -> the tool behind it, for the comparison with the steps of a task.
        keep_in_step: synchronize before each search; otherwise the index changes by `sync` alone.

    Attributes:
        in_step: `keep_in_step`.
        changes: of each synchronization.
    """

    def __init__(
        self,
        session: McpSession,
        synced: SyncedIndex,
        entry: Callable[[str], ToolEntry | None],
        *,
        keep_in_step: bool,
    ):
        self._session = session
        self._synced = synced
        self._entry = entry
        self.in_step = keep_in_step
        self._numbers = itertools.count()
        self.changes: list[Changes] = []

    def listed(self) -> list[ToolSchema]:
        """List the server's tools of now."""
        return [ToolSchema(one.name, one.description or "", one.input_schema) for one in self._session.list_again()]

    def sync(self) -> Changes:
        """Make the index equal to the server's list."""
        self.changes.append(self._synced.sync(self.listed()))
        return self.changes[-1]

    def mismatches(self) -> int:
        """Count tools of the index that differ from the server's list of now."""
        return self._synced.mismatches(self.listed())

    def store(self) -> ToolStore:
        """Store for `worlds.toolbox.held_tools.HeldBox`."""
        return ToolStore(self.retrieve, self.show, self.call, self._entry)

    def retrieve(self, query: str, count: int) -> Sequence[str]:
        """Rank stored tools by a query."""
        if self.in_step:
            self.sync()
        return self._synced.index.rank(query, count)

    def show(self, name: str) -> str:
        """Line of a stored tool in a search result."""
        return schema_entry(self._synced.schemas[name]).shown

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolReply:
        """Call a tool of the server; a tool that it does not have, and rejected arguments, are status "invalid"."""
        number = str(next(self._numbers))
        try:
            content = asyncio.run(self._session.call(name, dict(arguments), number))
        except Retry as refused:
            return ToolReply(number, name, str(refused), "invalid")
        return ToolReply(number, name, str(content), "ok")
