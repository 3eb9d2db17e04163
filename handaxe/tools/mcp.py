"""Tools of any MCP server, over stdio or streamable HTTP.

Kept: users train on tools of MCP servers.
"""

from __future__ import annotations

import collections
import json
import logging
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError, InputError, ToolDefinitionError
from handaxe.core.images import Image
from handaxe.core.records import ToolSchema
from handaxe.tools.decorator import Tool
from handaxe.tools.definition import ToolContext
from handaxe.tools.fault import TimeoutIs
from handaxe.tools.mcp_session import McpSession, Server
from handaxe.tools.thread_pool import Limit
from handaxe.tools.tool_from_schema import tool_from_schema
from handaxe.tools.truncate import truncate
from handaxe.tools.web.secret_headers import check_headers

__all__ = ["McpTools", "mcp"]

LOGGER = logging.getLogger(__name__)

MAX_DESCRIPTION = 2_000
"""Characters of a description shown to a policy, of a tool or inside its schema."""
MAX_SCHEMA = 50_000
"""Characters of a tool's schema as JSON."""
MAX_DEPTH = 40
"""Levels of a tool's schema."""


def mcp(
    *,
    command: Sequence[str] = (),
    url: str = "",
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str] | None = None,
    prefix: str = "",
    only: Collection[str] | None = None,
    shared: bool = False,
    servers: int | None = 32,
    warm: int = 0,
    timeout: float = 30.0,
    timeout_is: TimeoutIs = "infra_error",
    startup: float = 30.0,
    max_chars: int = 10_000,
    max_images: int = 8,
    cost: float = 0.0,
    limit: int | None = None,
    retries: int = 0,
    repeatable: Collection[str] | None = None,
) -> McpTools:
    """Make a factory of the tools of an MCP server, for `tool_chat`.

    Every rollout gets its own session: its own server process (stdio), or its own session id (HTTP). State in the
    server's memory or working directory does not leak between rollouts; other state does, and `testing.check_mcp`
    detects it. The session ends with the rollout: a process gets a second to exit, then its whole process group is
    killed, also when this program dies. A server that dies is an infra_error of its rollout, and the next rollout gets
    a new server.

    All server output is untrusted. Names are made valid (other characters become "_", at most 64), descriptions are cut
    to 2,000 characters, schemas may have 50,000 characters and 40 levels, messages 64 MiB, lists 1,000 tools; a later
    session with other tools than the first is refused. Texts of a result are joined, of at most 1,000 parts. Its first
    `max_images` images reach the policy, if `Image.read` accepts them; other images, audio and resources are named with
    kind and size. A result without content is its structured content as JSON. A result
    marked as an error, arguments refused by the server, and arguments that cannot be sent are status "retry". Requests
    of the server to its client (sampling, elicitation, roots) are declined.

    Args:
        command: program and arguments of a server on stdin and stdout. "{folder}" stands for the session's empty
            folder, deleted afterwards. Or
        url: address of a server's streamable HTTP endpoint.
        env: environment variables of the process, added to PATH, HOME, USER, LOGNAME, SHELL, TERM and LANG; no others
            pass. "{folder}" is replaced in the values, too.
        cwd: working directory of the process, "." for the present one; default the session's folder.
        headers: sent with every HTTP request, for example {"Authorization": ...}.
        prefix: before the tools' names, to tell two servers' tools apart.
        only: the server's names of the tools to offer; None for all.
        shared: all rollouts share a session; correct for a stateless server.
        servers: most open sessions of the rollouts of one driver, >= 1; further rollouts wait, and their waiting counts
            against no limit. None for no limit. `shared` always opens one.
        warm: additional sessions started in advance, >= 0. Each serves one rollout.
        timeout, timeout_is, max_chars, max_images, cost: of each tool, as in `tool`. A timeout cancels the request at
            the server.
        startup: seconds until a session must be ready.
        limit: most calls at the same time, over all rollouts and all tools of this factory; None for no limit.
        retries: further tries of a call after a timeout or an internal error of the server, with the same
            `ToolContext.key`, sent as the call's id. Only for tools that are safe to repeat, see `repeatable`. An ended
            session is not restarted, because its state is lost; a shared session is, because it has no state.
        repeatable: the server's names of the tools that are safe to repeat; None for the tools that the server marks as
            read-only or idempotent.

    Returns:
        A factory without arguments: each call gives the list of tools of a new session (their `owner`). `close()` ends
        shared and warm sessions, as does the end of a `with` block.

    Raises:
        InputError: neither or both of command and url, a number out of range, an invalid header; by the first call,
            unknown names in `only` or `repeatable`.
        ToolDefinitionError: by the first call, for a tool that cannot be offered; exclude it with `only`.
        InfrastructureError: by a call, if there is no session; the message ends with the last lines of the server's
            stderr.

    Example:
        env = tool_chat([mcp(command=["npx", "-y", "@modelcontextprotocol/server-everything", "stdio"])])
    """
    if isinstance(command, str) or bool(command) == bool(url):
        raise InputError("give either command, a list such as ['npx', '-y', 'some-server'], or url")
    if not (timeout > 0 and startup > 0) or warm < 0 or retries < 0:
        raise InputError(
            f"timeout {timeout} and startup {startup} must be above 0, warm {warm} and retries {retries} 0 or more"
        )
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit} calls at a time; give 1 or more, or None for no limit")
    if servers is not None and servers < 1:
        raise InputError(f"servers is {servers}; give 1 or more, or None for no limit")
    server = Server(
        tuple(command), url, dict(env or {}), None if cwd is None else Path(cwd), check_headers(headers or {})
    )
    shared_limit = None if limit is None else Limit(limit)
    tool_settings = {
        "timeout": timeout,
        "timeout_is": timeout_is,
        "max_chars": max_chars,
        "max_images": max_images,
        "cost": cost,
        "limit": shared_limit,
    }
    options = _ToolOptions(prefix, only, repeatable, retries)
    most = None if shared else servers
    return McpTools(server, options, shared, 1 if shared else warm, startup, tool_settings, most)


class _ToolOptions(NamedTuple):
    """The user's choices about a server's tools, by the server's names."""

    prefix: str
    only: Collection[str] | None
    repeatable: Collection[str] | None
    retries: int

    def select(self, listed: Collection[str], server: Server) -> list[str]:
        """Select the names to offer, in the server's order."""
        missing = sorted({*(self.only or ()), *(self.repeatable or ())} - set(listed))
        if missing:
            raise InputError(f"{server!r} has no tools {missing}; it has {sorted(listed)}")
        return [name for name in listed if self.only is None or name in self.only]

    def retries_for(self, name: str, annotations: Any) -> int:
        """Return the number of retries of a tool. Wrong marks harm only the server."""
        marked = annotations is not None and (annotations.read_only_hint or annotations.idempotent_hint)
        safe = marked if self.repeatable is None else name in self.repeatable
        return self.retries if safe else 0


class McpTools:
    """Factory of tools, made by `mcp`."""

    def __init__(
        self,
        server: Server,
        options: _ToolOptions,
        shared: bool,
        warm: int,
        startup: float,
        tool_settings: dict[str, Any],
        most: int | None,
    ):
        self._server, self._options = server, options
        self._shared = shared
        self._warm = warm
        self._startup = startup
        self._tool_settings = tool_settings
        self.most = most
        """Most open sessions; None for no limit."""
        self._noisy = False
        self._ready: collections.deque[McpSession] = collections.deque()
        self._offered: list[ToolSchema] | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<tools of {self._server!r}>"

    def __call__(self) -> list[Tool]:
        """Make the tools of a new session."""
        session = self._take()
        try:
            tools = self._tools(session.wait())
        except BaseException:
            session.close()
            raise
        offered = [tool.schema for tool in tools]
        with self._lock:
            first = self._offered = self._offered or offered
        if offered != first:
            session.close()
            raise InfrastructureError(f"{self._server!r} {_difference(first, offered)}")
        return tools

    def __enter__(self) -> McpTools:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End shared and unused warm sessions. Sessions of rollouts end with their rollouts."""
        with self._lock:
            ending = list(self._ready)
            self._ready.clear()
        for session in ending:
            session.begin_closing()
        for session in ending:
            session.close()

    def _begin(self) -> McpSession:
        return McpSession(self._server, startup=self._startup, ended=self._note_noise)

    def _note_noise(self, session: McpSession) -> None:
        """Warn once about server output that is no message."""
        if session.noise and not self._noisy:
            self._noisy = True
            LOGGER.warning(
                "%r wrote %d lines to stdout that are no messages; they are ignored: %s",
                self._server,
                session.noise,
                session.last_words(),
            )

    def _take(self) -> McpSession:
        with self._lock:
            session = self._first()
            if not self._shared:
                self._ready.popleft()
                while len(self._ready) < self._warm:
                    self._ready.append(self._begin())
        return session

    def _current(self) -> McpSession:
        """Return the shared session; a new session if the old one has ended."""
        with self._lock:
            if not self._ready:
                raise InfrastructureError(f"{self!r} are closed")
            return self._first()

    def _first(self) -> McpSession:
        while self._ready and not self._ready[0].usable:
            self._ready.popleft().begin_closing()
        while len(self._ready) < max(self._warm, 1):
            self._ready.append(self._begin())
        return self._ready[0]

    def _tools(self, session: McpSession) -> list[Tool]:
        listed = {tool.name: tool for tool in session.tools}
        names = self._options.select(listed, self._server)
        if not names:
            raise ToolDefinitionError(f"{self._server!r} offers no tools")
        owner = _Shared(session) if self._shared else session
        find = self._current if self._shared else lambda: session
        made, taken = list[Tool](), set[str]()
        try:
            for tool in (listed[name] for name in names):
                name = _valid_name(self._options.prefix + tool.name, taken)
                schema = ToolSchema(name, _described(tool.description or ""), _schema(tool.name, tool.input_schema))
                retries = self._options.retries_for(tool.name, tool.annotations)
                made.append(
                    tool_from_schema(
                        schema,
                        _carry(find, tool.name, self._tool_settings["max_images"]),
                        owner=owner,
                        retries=retries,
                        **self._tool_settings,
                    )
                )
        except ToolDefinitionError as error:
            if self._offered is None:
                raise
            raise InfrastructureError(f"{self._server!r} offers other tools than the first session: {error}") from error
        return made


class _Shared:
    """Owner of a shared session's tools in a rollout: closing it ends nothing."""

    def __init__(self, session: McpSession):
        self.session = session

    def close(self) -> None:
        """Do nothing: other rollouts use the session."""


def _carry(find: Callable[[], McpSession], name: str, max_images: int) -> Any:
    async def carry(arguments: dict[str, Any], context: ToolContext) -> str | list[str | Image]:
        return await find().call(name, arguments, context.key, max_images=max_images)

    return carry


def _valid_name(name: str, taken: set[str]) -> str:
    """Make a valid tool name outside `taken`; adds the name to `taken`."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    plain = (plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}")[:64]
    number = 1
    unlike = plain
    while unlike in taken:
        number += 1
        unlike = f"{plain[:60]}_{number}"
    taken.add(unlike)
    return unlike


def _difference(first: Sequence[ToolSchema], now: Sequence[ToolSchema]) -> str:
    """Describe how a session's tools differ from the tools of the first session."""
    names = [[tool.name for tool in tools] for tools in (first, now)]
    if names[0] != names[1]:
        return f"offers {names[1][:50]} now; the first session offered {names[0][:50]}"
    changed = next(new.name for old, new in zip(first, now) if new != old)
    return f"describes its tool {changed!r} differently from the first session, so rollouts are not comparable"


def _described(text: str) -> str:
    return truncate(text, limit=MAX_DESCRIPTION, drop="tail")


def _schema(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Cut the descriptions of a schema, and check its size."""
    schema = {"type": "object", "properties": {}, **_cut(name, dict(given), 0)}
    size = len(json.dumps(schema))
    if size > MAX_SCHEMA:
        raise ToolDefinitionError(
            f"the schema of tool {name[:80]!r} has {size} characters, the limit is {MAX_SCHEMA}; use only="
        )
    return schema


def _cut(name: str, value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ToolDefinitionError(f"the schema of tool {name[:80]!r} has more than {MAX_DEPTH} levels")
    if isinstance(value, str):
        return _described(value)
    if isinstance(value, list):
        return [_cut(name, item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {key: _cut(name, item, depth + 1) for key, item in value.items()}
    return value
