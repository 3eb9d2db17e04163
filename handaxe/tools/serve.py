"""MCP server for tools, over stdio or HTTP.

Kept: `handaxe serve` imports it on use.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext, suppress
from typing import Any, Literal

from handaxe.core.errors import HandaxeError, InputError, ToolDefinitionError
from handaxe.core.images import split_images
from handaxe.core.records import ToolCall, ToolReply, ToolSchema
from handaxe.ops.seeds import derive_seed
from handaxe.tools.bearer_auth import BearerAuth, require_token
from handaxe.tools.bind_socket import bind_socket
from handaxe.tools.decorator import Tool
from handaxe.tools.definition import check_names
from handaxe.tools.fault import machinery
from handaxe.tools.tool_owners import SupportsClose, ToolSource, collect_tools, flatten_sources, import_path

try:
    import anyio
    import mcp_types as types
    from mcp import MCPError
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    from handaxe.tools.http_server import http_server
    from handaxe.tools.mcp_content import write_content
except ImportError as error:
    raise InputError("MCP needs its SDK: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["mcp_server", "serve"]

STATE = "handaxe"


def serve(
    tools: Sequence[ToolSource | Sequence[ToolSource]],
    *,
    name: str = "handaxe",
    transport: Literal["stdio", "http"] = "stdio",
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str = "",
    workers: int = 16,
    max_sessions: int = 1000,
    idle: float = 1800.0,
    seed: int = 0,
) -> None:
    """Serve tools over MCP until the client leaves (stdio) or the program is stopped (http).

    A client gets, for a reply of status

        ok                                      the content, each text and image as a part
        retry, failed, invalid                  the content, marked as an error
        timeout that is the policy's fault      the content, marked as an error
        infra_error, any other timeout          a protocol error; details go to stderr only

    Every client session has its own tools from a factory, closed when the session ends; the calls of a session run one
    after another if the tools have state. Over HTTP this needs a client that begins with `initialize`, and a server
    with state tells newer clients to do so.

    Over HTTP a client with the `token` may call the tools; without a token every program on this machine may, and the
    server must listen at localhost, 127.0.0.1 or ::1. There is no TLS: on a shared network, put a server with TLS in
    front, or the token can be read in transit. A request that is incomplete after 30 seconds is disconnected
    (`handaxe.tools.http_server`). Clients are not distinguished: one client may open all sessions, which last for
    `idle`.

    Args:
        tools: as in `tool_chat`: tools, lists of tools, or functions without arguments that make tools.
        name: of the server.
        transport: stdio, or http (streamable HTTP, at http://host:port/mcp).
        host, port: address for http.
        token: expected in the header "Authorization: Bearer TOKEN"; "" for no authentication.
        workers: calls that run at the same time, over all sessions.
        max_sessions: over HTTP, sessions at the same time.
        idle: seconds after which an unused HTTP session is ended.
        seed: base of the seeds passed to tools.

    Raises:
        ToolDefinitionError: as in `tool_chat`.
        InputError: a limit out of range, an invalid token, no token for a reachable host, or a token for stdio.

    Example:
        serve([calculator, python], name="lab", transport="http", port=8000)
    """
    if workers < 1 or max_sessions < 1 or not idle > 0:
        raise InputError(f"workers {workers} and max_sessions {max_sessions} must be 1 or more, idle {idle} above 0")
    if token and transport == "stdio":
        raise InputError("a token is for http: over stdio the client itself starts the server")
    if transport == "http":
        require_token(host, token)
    server = mcp_server(tools, name=name, workers=workers, seed=seed, one_client=transport == "stdio")
    if transport == "stdio":
        anyio.run(_over_stdio, server)
        return
    app: Any = server.streamable_http_app(host=host, max_sessions=max_sessions, session_idle_timeout=idle)
    if token:
        app = BearerAuth(app, token)
    with closing(bind_socket(host, port)) as listening, suppress(KeyboardInterrupt):
        place = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"serving {name} at http://{place}:{listening.getsockname()[1]}/mcp\n")
        sys.stderr.flush()
        http_server(app).run(sockets=[listening])


async def _over_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def mcp_server(
    tools: Sequence[ToolSource | Sequence[ToolSource]],
    *,
    name: str = "handaxe",
    workers: int = 16,
    seed: int = 0,
    one_client: bool = False,
) -> Server[Any]:
    """Make the SDK's server of tools, to be run by `serve`, mounted into an app, or tested with `mcp.Client(server)`.

    Args:
        tools, name, workers, seed: as in `serve`.
        one_client: all requests come from one client and share one state.

    Raises:
        ToolDefinitionError: two tools share a name, an entry is no tool, needs arguments, fails to make tools, or is
            a method of an object, or a tool takes an image by its number in a conversation, which no client sends.
    """
    entries = flatten_sources(tools, whose="clients")
    sample = _Session(entries, 0, stateful=False)
    schemas = [tool.schema for tool in sample.tools()]
    stateful = any(tool.owner is not None for tool in sample.tools())
    numbered = [tool.schema.name for tool in sample.tools() if tool.definition.images]
    sample.close()
    check_names(schemas)
    if numbered:
        raise ToolDefinitionError(
            f"tools {numbered} take images by their numbers in a conversation, which an MCP client does not send: "
            "leave them out"
        )
    shared = _Session(entries, seed, stateful=stateful) if one_client or not stateful else None
    handlers = _Handlers(entries, schemas, workers, seed, shared)
    server: Server[Any] = Server(name, on_list_tools=handlers.list, on_call_tool=handlers.call)
    if shared is None:
        # A client of protocol 2026-07-28 has no session over HTTP; this error makes it begin with `initialize`.
        server.add_request_handler("server/discover", types.RequestParams, _unknown)
    return server


async def _unknown(context: Any, params: Any) -> Any:
    del context, params
    raise MCPError(types.METHOD_NOT_FOUND, "these tools keep state: begin the session with `initialize`")


class _Handlers:
    """Request handlers. `shared` is the only session, or None if each connection has its own."""

    def __init__(
        self, tools: Sequence[ToolSource], schemas: list[ToolSchema], workers: int, seed: int, shared: _Session | None
    ):
        self.offered = tools
        self.seed = seed
        self.shared = shared
        self.listed = [
            types.Tool(name=s.name, description=s.description, input_schema=dict(s.parameters)) for s in schemas
        ]
        self.workers, self.count = workers, 0
        self._limit: anyio.CapacityLimiter | None = None

    async def list(self, context: Any, params: Any) -> types.ListToolsResult:
        """List every tool, on a single page."""
        del context, params
        return types.ListToolsResult(tools=self.listed)

    async def call(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run a call in a thread."""
        if params.name not in [tool.name for tool in self.listed]:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:80]!r}")
        self._limit = self._limit or anyio.CapacityLimiter(self.workers)
        session = self.shared or self._session_of(context.session)
        meta = dict(params.meta or {})
        async with session.turn:
            tool, reply = await anyio.to_thread.run_sync(
                session.run, params.name, params.arguments or {}, meta.get("handaxe/call_id"), limiter=self._limit
            )
        return _result(tool, reply)

    def _session_of(self, session: Any) -> _Session:
        """Return the state of the client's connection, made at the first call and closed with the connection."""
        # The SDK has no public access from a request to its connection.
        connection = session._connection
        if STATE not in connection.state:
            self.count += 1
            state = _Session(self.offered, derive_seed(self.seed, self.count), stateful=True)
            connection.state[STATE] = state
            connection.exit_stack.push_async_callback(anyio.to_thread.run_sync, state.close)
        return connection.state[STATE]


class _Session:
    """Tools of a client, made in the thread of the first call, since a factory may be slow."""

    def __init__(self, offered: Sequence[ToolSource], seed: int, *, stateful: bool):
        self.offered = offered
        self.seed = seed
        self.numbers = itertools.count()
        self.made: list[Tool] | None = None
        self.turn: Any = anyio.Lock() if stateful else nullcontext()

    def tools(self) -> list[Tool]:
        if self.made is None:
            self.made = collect_tools([_made(entry) for entry in self.offered])
        return self.made

    def run(self, name: str, arguments: dict[str, Any], call_id: Any) -> tuple[Tool, ToolReply]:
        number = next(self.numbers)  # atomic: many threads call this
        call = ToolCall(name, arguments, call_id if isinstance(call_id, str) else f"c{number}")
        (tool,) = [tool for tool in self.tools() if tool.schema.name == name]
        return tool, tool.run(call, seed=derive_seed(self.seed, call.id))  # a call sent again has the same key

    def close(self) -> None:
        owners = {id(tool.owner): tool.owner for tool in self.made or () if tool.owner is not None}
        for owner in owners.values():
            if isinstance(owner, SupportsClose):
                with suppress(Exception):
                    owner.close()


def _made(entry: ToolSource) -> Any:
    """Return a tool, or the result of a factory."""
    if isinstance(entry, Tool):
        return entry
    try:
        return entry()
    except HandaxeError:
        raise
    except Exception as error:
        raise ToolDefinitionError(
            f"{import_path(entry)} made no tools but raised {error!r}: make the tools in your own module and serve them"
        ) from error


def _result(tool: Tool, reply: ToolReply) -> types.CallToolResult:
    if machinery(reply.status, timeout_is=tool.timeout_is):
        sys.stderr.write(f"tool {reply.name}: {reply.status}: {reply.content!r}\n")
        raise MCPError(types.INTERNAL_ERROR, f"tool {reply.name!r} failed for no fault of the caller")
    parts = split_images(reply.content, reply.images) if reply.images else [reply.content]
    return types.CallToolResult(content=write_content(parts), is_error=reply.status != "ok")
