"""Session with an MCP server. All sessions share an event loop in a daemon thread."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import functools
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import handaxe
from handaxe.core.errors import InfrastructureError, InputError, Retry
from handaxe.core.images import Image
from handaxe.tools.fault import check_sendable
from handaxe.tools.mcp_content import read_content
from handaxe.tools.mcp_http import http_transport
from handaxe.tools.mcp_limits import MAX_TOOLS, CappedStream, cap_messages
from handaxe.tools.mcp_stdio import StdioServerProcess
from handaxe.tools.web.secret_headers import Secrets

try:
    import mcp_types as types
    from mcp import Client, MCPError
except ImportError as error:
    raise InputError("MCP needs its SDK: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["McpSession", "Server"]

MAX_PAGES = 50
"""Pages of the longest list of tools."""
UNSUPPORTED_VERSION = types.UNSUPPORTED_PROTOCOL_VERSION
RECOVERABLE = types.INTERNAL_ERROR
"""Error code of a request after which the session continues."""
CLIENT_INFO = types.Implementation(name="handaxe", version=handaxe.__version__)
CLOSE_SECONDS = 10.0
"""Most seconds to wait for the end of a session."""


class Server(NamedTuple):
    """Address of a server: a command to start, or a URL. `env` and `cwd` belong to a command, `headers` to a URL."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = {}
    cwd: Path | None = None
    headers: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"MCP server {' '.join(self.command) or self.url}"


LIVE: weakref.WeakSet[McpSession] = weakref.WeakSet()
"""Sessions that may not have ended, to be closed at exit."""


class McpSession:
    """Session with a new server process, or a new session id at a URL. Starts at once; `wait` until ready.

    Args:
        server: command or URL.
        startup: seconds until it must be ready.
        ended: called when the session is over.

    Raises:
        InfrastructureError: by `wait` and `call`, if the server is unreachable, has ended or violates the protocol.
    """

    def __init__(self, server: Server, *, startup: float, ended: Callable[[McpSession], object] = lambda session: None):
        self.server, self.startup = server, startup
        self._on_end = ended
        self.tools: list[types.Tool] = []
        self._streams: list[CappedStream] = []
        self._hide = Secrets([server.headers]).hide
        self._process = StdioServerProcess(server.command, env=server.env, cwd=server.cwd) if server.command else None
        self._client: Client | None = None
        self._loop = _loop(os.getpid())
        self._stop = asyncio.Event()
        self._task: asyncio.Task[Any] | None = None
        self._closed = self._broken = False
        self._ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._ended = threading.Event()
        LIVE.add(self)
        asyncio.run_coroutine_threadsafe(self._live(), self._loop)

    @property
    def pid(self) -> int | None:
        """Return the id of the server's process; None at a URL."""
        return self._process.pid if self._process else None

    @property
    def usable(self) -> bool:
        """Test whether the session is ready or starting, without errors so far."""
        return not (self._closed or self._broken or self._ended.is_set())

    @property
    def noise(self) -> int:
        """Count the invalid lines of the server's output. Lines that do not look like messages are counted
        in powers of two until the session is over.
        """
        return sum(heard.noise for heard in self._streams) + (self._process.noise if self._process else 0)

    def report(self) -> dict[str, int]:
        """Report the noise, for the record of a rollout."""
        return {"lines that are no messages": self.noise}

    def last_words(self) -> str:
        """Describe the end of the server's process; "" at a URL."""
        return self._process.last_words() if self._process else ""

    def wait(self) -> McpSession:
        """Wait until the session is ready; returns the session."""
        try:
            self._ready.result(self.startup + CLOSE_SECONDS)
        except TimeoutError:
            self.close()
            raise InfrastructureError(f"{self.server!r} did not start within {self.startup:g} seconds") from None
        return self

    async def call(
        self, name: str, arguments: dict[str, Any], call_id: str, *, max_images: int = 8
    ) -> str | list[str | Image]:
        """Call a tool once the session is ready; awaited on any event loop. Cancellation cancels the request at the
        server.

        `call_id` is sent in the request's `_meta` under "handaxe/call_id", so that the server can carry out a repeated
        call once. `max_images` images of the result are read, see `mcp_content.read_content`.

        Raises:
            Retry: the tool reports a failure, or the server refuses the arguments.
        """
        work = asyncio.run_coroutine_threadsafe(self._call(name, arguments, call_id, max_images), self._loop)
        return await asyncio.wrap_future(work)

    def list_again(self, *, timeout: float = 30.0) -> list[types.Tool]:
        """List the server's tools of now, and keep them as `tools`; a server may add and remove tools at any time.

        Raises:
            InfrastructureError: the session is over, the list is not there in time, or the server breaks its protocol.
        """
        self.wait()
        if not self.usable or self._client is None:
            raise InfrastructureError(f"{self.server!r} gives no list: the session is over")
        work = asyncio.run_coroutine_threadsafe(self._list(self._client), self._loop)
        try:
            self.tools = work.result(timeout)
        except (MCPError, TimeoutError) as error:
            work.cancel()
            raise InfrastructureError(f"{self.server!r} gives no list: {error or 'no reply in time'}") from error
        return list(self.tools)

    def close(self) -> None:
        """End the session and its process. A second call does nothing."""
        self.begin_closing()
        self._ended.wait(CLOSE_SECONDS)

    def begin_closing(self) -> None:
        """Start closing, without waiting for the end."""
        if not self._closed:
            self._closed = True
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        self._stop.set()
        if self._task and not self._ready.done():
            self._task.cancel()

    async def _live(self) -> None:
        """Enter the session, wait for the end and leave, all in a single task as the SDK requires."""
        self._task = asyncio.current_task()
        try:
            # Only the handshake before 2026 gives a session at a URL; newer servers reject it with this error.
            for mode in ("legacy", "auto"):
                if self._ready.done() or self._stop.is_set():
                    return
                try:
                    await self._session(mode)
                except BaseException as error:
                    too_new = any(isinstance(e, MCPError) and e.code == UNSUPPORTED_VERSION for e in _leaves(error))
                    if mode == "auto" or not too_new or self._ready.done():
                        raise
        except BaseException as error:
            if any(isinstance(e, TimeoutError) for e in _leaves(error)):
                self._fail(f"it did not start within {self.startup:g} seconds")
            self._fail("; ".join(str(e) or type(e).__name__ for e in _leaves(error)))
        finally:
            self._fail("it was closed")
            self._broken = True
            self._ended.set()
            self._on_end(self)

    async def _session(self, mode: str) -> None:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self.startup):
                if self._process:
                    transport = self._process.transport()
                else:
                    transport = http_transport(self.server.url, self.server.headers)
                client = Client(cap_messages(transport, self._streams), mode=mode, cache=None, client_info=CLIENT_INFO)
                self._client = await stack.enter_async_context(client)
                self.tools = await self._list(self._client)
            self._ready.set_result(None)
            await self._stop.wait()

    def _fail(self, why: str) -> None:
        if not self._ready.done():
            about = "; ".join(part for part in (self._hide(why), self.last_words()) if part)
            self._ready.set_exception(InfrastructureError(f"{self.server!r} gives no session: {about}"))

    async def _list(self, client: Client) -> list[types.Tool]:
        """List every tool. Requested directly, because the SDK's method stores output schemas and runs their regular
        expressions."""
        tools, cursor = list[types.Tool](), None
        for _ in range(MAX_PAGES):
            request = types.ListToolsRequest(params=types.PaginatedRequestParams(cursor=cursor))
            page = await client.session.send_request(request, types.ListToolsResult)
            tools += page.tools
            if len(tools) > MAX_TOOLS:
                raise InfrastructureError(f"it lists more than {MAX_TOOLS} tools; start it with fewer")
            cursor = page.next_cursor
            if cursor is None:
                return tools
        raise InfrastructureError(f"its list of tools has more than {MAX_PAGES} pages")

    async def _call(
        self, name: str, arguments: dict[str, Any], call_id: str, max_images: int
    ) -> str | list[str | Image]:
        await asyncio.shield(asyncio.wrap_future(self._ready))
        if self._broken or self._client is None:
            raise InfrastructureError(f"{self.server!r} has ended: {await self._describe_end()}")
        check_sendable(arguments)  # unsendable arguments would end the session
        meta: Any = {"handaxe/call_id": call_id}
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments, _meta=meta))
        try:
            result = await self._client.session.send_request(request, types.CallToolResult)
        except MCPError as error:
            message = self._hide(error.message)
            if error.code == types.INVALID_PARAMS:
                raise Retry(message) from None
            if error.code == RECOVERABLE:
                raise InfrastructureError(f"{self.server!r} reports {message[:500]!r}") from error
            self._broken = True
            end = await self._describe_end()
            raise InfrastructureError(f"{self.server!r} reports {message[:500]!r}; {end}") from error
        except Exception as error:
            self._broken = True
            problem = f"{type(error).__name__}: {self._hide(str(error))[:500]}"
            raise InfrastructureError(f"{self.server!r} violated the protocol: {problem}") from error
        if result.is_error:
            raise Retry(self._hide(read_content(result, max_images=0)) or f"{name} failed")
        # In a thread: all sessions share this event loop, and images take time to decode.
        content = await asyncio.to_thread(read_content, result, max_images=max_images)
        if isinstance(content, str):
            return self._hide(content)
        return [self._hide(part) if isinstance(part, str) else part for part in content]

    async def _describe_end(self) -> str:
        if self._process is None:
            return "the session is over"
        await asyncio.sleep(0.05)  # a process that closed its stdout needs a moment to exit
        return self._process.last_words() or "its process still runs"


def _leaves(error: BaseException) -> list[BaseException]:
    """Flatten nested exception groups into a list of exceptions."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _leaves(part)]
    return [error]


@functools.cache
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """Start the event loop of a process in a daemon thread, keyed by process id for forks."""
    del process
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="handaxe-mcp").start()
    atexit.register(_close_all)
    return loop


def _close_all() -> None:
    sessions = list(LIVE)
    for session in sessions:
        session.begin_closing()
    for session in sessions:
        session.close()
