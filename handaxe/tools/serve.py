"""Serves tools over MCP, to any client that speaks it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext, suppress
from typing import Any, Literal

from handaxe.core.errors import HandaxeError, InputError, ToolDefinitionError
from handaxe.core.records import ToolCall, ToolReply, ToolSchema
from handaxe.ops.seeds import derive_seed
from handaxe.tools.bearer import Bearer, check_door
from handaxe.tools.decorator import Tool
from handaxe.tools.fault import machinery
from handaxe.tools.listening import listen
from handaxe.tools.schema import check_names
from handaxe.tools.state import Closes, Offered, address_of, entries_of, tools_of

try:
    import anyio
    import mcp_types as types
    import uvicorn
    from mcp import MCPError
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    from handaxe.tools.timely import Timely
except ImportError as error:
    raise InputError("MCP needs its SDK: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["mcp_server", "serve"]

STATE = "handaxe"


def serve(
    tools: Sequence[Offered | Sequence[Offered]],
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
    """Serve tools over MCP until the client goes (stdio) or the program is stopped (http).

    What a client gets for a reply of status

        ok                                      its content
        retry, failed, invalid                  its content, marked as an error
        timeout that is the policy's fault      the same
        infra_error, any other timeout          a protocol error; details stand on stderr only

    Every client session has its own instance of what a factory makes, closed when the session ends; a session's calls
    run one after the other if it has such state. Over HTTP that takes a client that begins with `initialize`, and a
    server with state tells newer clients so.

    Over HTTP a client that brings `token` may call the tools; without one every program on this machine may, and no
    other host than localhost, 127.0.0.1 and ::1 can be listened at. There is no TLS: where the network is not yours
    alone, put a server that has it before this one, or the token can be read on the way. A request that has not arrived
    after 30 seconds is hung up on. Clients are not told apart: one may open all sessions, which then last for `idle`.

    Args:
        tools: as for `tool_chat`: tools, lists of tools, or functions without arguments that make them.
        name: what the server calls itself.
        transport: stdio, or http (streamable HTTP, at http://host:port/mcp).
        host, port: where to listen for http.
        token: what a client sends in the header "Authorization: Bearer TOKEN"; "": there is no log-in.
        workers: calls that run at the same time, over all sessions.
        max_sessions: over HTTP, sessions at the same time.
        idle: seconds after which an unused HTTP session is ended.
        seed: of the seeds that tools are handed.

    Raises:
        ToolDefinitionError: as `tool_chat` does.
        InputError: a limit out of range, an invalid token, no token where one is needed, or one for stdio.

    Example:
        serve([calculator, python], name="lab", transport="http", port=8000)
    """
    if workers < 1 or max_sessions < 1 or not idle > 0:
        raise InputError(f"workers {workers} and max_sessions {max_sessions} must be 1 or more, idle {idle} above 0")
    if token and transport == "stdio":
        raise InputError("a token is for http: who talks over stdio has started the server")
    if transport == "http":
        check_door(host, token)
    server = mcp_server(tools, name=name, workers=workers, seed=seed, one_client=transport == "stdio")
    if transport == "stdio":
        anyio.run(_over_stdio, server)
        return
    app: Any = server.streamable_http_app(host=host, max_sessions=max_sessions, session_idle_timeout=idle)
    if token:
        app = Bearer(app, token)
    with closing(listen(host, port)) as listening, suppress(KeyboardInterrupt):
        place = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"serving {name} at http://{place}:{listening.getsockname()[1]}/mcp\n")
        sys.stderr.flush()
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, http=Timely)
        uvicorn.Server(config).run(sockets=[listening])


async def _over_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def mcp_server(
    tools: Sequence[Offered | Sequence[Offered]],
    *,
    name: str = "handaxe",
    workers: int = 16,
    seed: int = 0,
    one_client: bool = False,
) -> Server[Any]:
    """Make the SDK's server of tools, to be run by `serve`, mounted into an app, or tried with `mcp.Client(server)`.

    Args:
        tools, name, workers, seed: as of `serve`.
        one_client: there will be one client only, and all it asks shares one state.

    Raises:
        ToolDefinitionError: two tools of one name, an entry that is no tool, needs arguments or fails to make tools, or
            a method of an object.
    """
    entries = entries_of(tools, whose="clients")
    probe = _Session(entries, 0, stateful=False)
    schemas = [tool.schema for tool in probe.tools()]
    stateful = any(tool.owner is not None for tool in probe.tools())
    probe.close()
    check_names(schemas)
    one = _Session(entries, seed, stateful=stateful) if one_client or not stateful else None
    desk = _Desk(entries, schemas, workers, seed, one)
    server: Server[Any] = Server(name, on_list_tools=desk.list, on_call_tool=desk.call)
    if desk.one is None:
        # A client of 2026-07-28 has no session over HTTP: told that this is unknown, it begins with `initialize`.
        server.add_request_handler("server/discover", types.RequestParams, _unknown)
    return server


async def _unknown(context: Any, params: Any) -> Any:
    del context, params
    raise MCPError(types.METHOD_NOT_FOUND, "these tools keep state: begin the session with `initialize`")


class _Desk:
    """Answers requests. `one` is the only session there is, or None where each connection has its own."""

    def __init__(
        self, tools: Sequence[Offered], schemas: list[ToolSchema], workers: int, seed: int, one: _Session | None
    ):
        self.offered = tools
        self.seed = seed
        self.one = one
        self.listed = [
            types.Tool(name=s.name, description=s.description, input_schema=dict(s.parameters)) for s in schemas
        ]
        self.workers, self.count = workers, 0
        self._limit: anyio.CapacityLimiter | None = None

    async def list(self, context: Any, params: Any) -> types.ListToolsResult:
        """Every tool, on one page."""
        del context, params
        return types.ListToolsResult(tools=self.listed)

    async def call(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Carry out one call in a thread."""
        if params.name not in [tool.name for tool in self.listed]:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:80]!r}")
        self._limit = self._limit or anyio.CapacityLimiter(self.workers)
        session = self.one or self._session_of(context.session)
        meta = dict(params.meta or {})
        async with session.turn:
            tool, reply = await anyio.to_thread.run_sync(
                session.run, params.name, params.arguments or {}, meta.get("handaxe/call_id"), limiter=self._limit
            )
        return _result(tool, reply)

    def _session_of(self, session: Any) -> _Session:
        """The state of the client's connection, made at its first call and closed with it."""
        # The SDK has no public way from a request to its connection.
        connection = session._connection
        if STATE not in connection.state:
            self.count += 1
            state = _Session(self.offered, derive_seed(self.seed, self.count), stateful=True)
            connection.state[STATE] = state
            connection.exit_stack.push_async_callback(anyio.to_thread.run_sync, state.close)
        return connection.state[STATE]


class _Session:
    """The tools of one client, made in the thread of its first call, since that may take long."""

    def __init__(self, offered: Sequence[Offered], seed: int, *, stateful: bool):
        self.offered = offered
        self.seed = seed
        self.numbers = itertools.count()
        self.made: list[Tool] | None = None
        self.turn: Any = anyio.Lock() if stateful else nullcontext()

    def tools(self) -> list[Tool]:
        if self.made is None:
            self.made = tools_of([_made(entry) for entry in self.offered])
        return self.made

    def run(self, name: str, arguments: dict[str, Any], call_id: Any) -> tuple[Tool, ToolReply]:
        number = next(self.numbers)  # many threads may be here
        call = ToolCall(name, arguments, call_id if isinstance(call_id, str) else f"c{number}")
        (tool,) = [tool for tool in self.tools() if tool.schema.name == name]
        return tool, tool.run(call, seed=derive_seed(self.seed, call.id))  # a call sent again has the same key

    def close(self) -> None:
        owners = {id(tool.owner): tool.owner for tool in self.made or () if tool.owner is not None}
        for owner in owners.values():
            if isinstance(owner, Closes):
                with suppress(Exception):
                    owner.close()


def _made(entry: Offered) -> Any:
    """A tool, or what a function makes."""
    if isinstance(entry, Tool):
        return entry
    try:
        return entry()
    except HandaxeError:
        raise
    except Exception as error:
        raise ToolDefinitionError(
            f"{address_of(entry)} made no tools but raised {error!r}: make them in a module of your own and serve those"
        ) from error


def _result(tool: Tool, reply: ToolReply) -> types.CallToolResult:
    if machinery(reply.status, timeout_is=tool.timeout_is):
        sys.stderr.write(f"tool {reply.name}: {reply.status}: {reply.content!r}\n")
        raise MCPError(types.INTERNAL_ERROR, f"tool {reply.name!r} failed for no fault of the caller")
    text = types.TextContent(type="text", text=reply.content)
    return types.CallToolResult(content=[text], is_error=reply.status != "ok")
