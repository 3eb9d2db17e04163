"""MCP server over stdio with the tools of a file, read at every request: tools come and go while the server runs.

    python -m handaxe.papers.scale_mcp.catalogue_server TOOLS.json

The file is a list of objects with name, description, parameters (JSON schema) and function. A call returns
`worlds.toolbox.catalogue.stub_value` of function and arguments. Whoever operates the server replaces the file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from handaxe.core.records import ToolCall, ToolReply, ToolSchema
from handaxe.tools.tool_from_schema import tool_from_schema
from handaxe.worlds.toolbox.catalogue import stub_value

__all__ = ["CatalogueServer"]

PAGE = 100
"""Tools of a page of the list."""


class CatalogueServer:
    """Handlers of the server.

    Args:
        path: file of the tools.
    """

    def __init__(self, path: Path):
        self._path = path

    def read(self) -> dict[str, dict[str, Any]]:
        """Read the tools of now: name -> object of the file."""
        return {one["name"]: one for one in json.loads(self._path.read_text())}

    def run(self, name: str, arguments: dict[str, Any]) -> ToolReply:
        """Call a tool.

        Raises:
            MCPError: the server has no such tool now.
        """
        found = self.read().get(name)
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {name[:80]!r}")
        schema = ToolSchema(name, found["description"], {**found["parameters"], "additionalProperties": False})
        stub = tool_from_schema(schema, lambda given, _: str(stub_value(found["function"], given)), timeout=None)
        return stub.run(ToolCall(name, arguments))

    async def list(self, context: Any, params: Any) -> types.ListToolsResult:
        """List the tools of now, in pages."""
        del context
        start = int(getattr(params, "cursor", None) or 0)
        known = list(self.read().values())
        page = [
            types.Tool(name=one["name"], description=one["description"], input_schema=one["parameters"])
            for one in known[start : start + PAGE]
        ]
        more = start + PAGE < len(known)
        return types.ListToolsResult(tools=page, next_cursor=str(start + PAGE) if more else None)

    async def call(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run a call; rejected arguments are a result with an error."""
        del context
        reply = await anyio.to_thread.run_sync(self.run, params.name, dict(params.arguments or {}))
        content: list[Any] = [types.TextContent(type="text", text=reply.content)]
        return types.CallToolResult(content=content, is_error=reply.status != "ok")


async def _serve(path: Path) -> None:
    handlers = CatalogueServer(path)
    server: Server[Any] = Server("catalogue", on_list_tools=handlers.list, on_call_tool=handlers.call)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_serve, Path(sys.argv[1]))
