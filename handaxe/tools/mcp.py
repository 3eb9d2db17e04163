"""Makes tools of any MCP server, over stdio or streamable HTTP."""

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
from handaxe.core.records import ToolSchema
from handaxe.tools.declared import declared
from handaxe.tools.decorator import Tool
from handaxe.tools.fault import TimeoutIs
from handaxe.tools.mcp_session import McpSession, Server
from handaxe.tools.schema import ToolContext
from handaxe.tools.threads import Limit
from handaxe.tools.truncate import truncate
from handaxe.tools.web.keys import check_headers

__all__ = ["McpTools", "mcp"]

LOGGER = logging.getLogger(__name__)

MAX_DESCRIPTION = 2_000
"""Characters of a description, of a tool or inside its schema, that a policy is shown."""
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
    cost: float = 0.0,
    limit: int | None = None,
    retries: int = 0,
    repeatable: Collection[str] | None = None,
) -> McpTools:
    """Make a factory of the tools of an MCP server, for `tool_chat`.

    Every rollout gets a session of its own: its own server process (stdio), or its own session id (HTTP), so nothing
    that a server keeps in its memory or working directory leaks from one rollout into another; what it keeps elsewhere
    does, and `testing.check_mcp` finds it. It ends with the rollout; a process gets a second to go, then its whole
    process group is killed, also when this program dies. A server that dies is an infra_error of its rollout, and the
    next rollout gets a new one.

    Whatever a server says is untrusted. Names are made writable (other characters become "_", at most 64), descriptions
    are cut to 2,000 characters, schemas may have 50,000 characters and 40 levels, messages 64 MiB, lists 1,000 tools; a
    later session whose tools differ from the first one's is refused. Texts of a result are joined, of at most 1,000
    parts; images, sound and resources are named, not inlined; a result without content is its structured content as
    JSON. A result marked as an error, arguments that the server refuses, and those that cannot be sent are status
    "retry". What a server asks of its client (sampling, elicitation, roots) is declined.

    Args:
        command: program and arguments of a server that speaks over its stdin and stdout. "{folder}" in it stands for
            the empty folder that every session has for itself, deleted afterwards. Or
        url: address of a server's streamable HTTP endpoint.
        env: variables for the process, besides PATH, HOME, USER, LOGNAME, SHELL, TERM and LANG; no others pass.
            "{folder}" in their values is replaced too.
        cwd: its working directory, "." for this one; default that folder.
        headers: sent with every HTTP request, for example {"Authorization": ...}.
        prefix: put before the tools' names, to tell two servers' tools apart.
        only: the server's own names of the tools wanted; None: all.
        shared: all rollouts share one session, which is right for a server that remembers nothing.
        servers: sessions that the rollouts of one driver may have open at the same time, >= 1; the others begin as
            these end, and their waiting counts for nothing. None: all at once. `shared` needs one in any case.
        warm: sessions kept started in advance, >= 0, besides. Each is used by one rollout.
        timeout, timeout_is, max_chars, cost: of each tool, as of `tool`. A timeout cancels the request at the server.
        startup: seconds until a session must stand.
        limit: most calls at the same time, over all rollouts and all tools of this factory; None: no limit.
        retries: further tries of a call that timed out or met an internal error of the server, with the same
            `ToolContext.key`, which the server finds as the call's id. Only of tools that are safe to call twice, which
            `repeatable` says. A session that has ended is not begun again, for what it remembered is lost; but a shared
            one is, since it remembers nothing.
        repeatable: the server's own names of the tools that are safe to call twice; None: those that the server marks
            as read-only or idempotent.

    Returns:
        A factory without arguments: each call gives the list of tools of a new session (their `owner`). `close()` ends
        what is shared or warm; a `with` block does that too.

    Raises:
        InputError: neither or both of command and url, a number out of range, an invalid header; by the first call,
            `only` or `repeatable` that name what is not there.
        ToolDefinitionError: by the first call, for a tool that cannot be offered; leave it out with `only`.
        InfrastructureError: by a call, when there is no session; the message ends with the end of the server's stderr.

    Example:
        env = tool_chat([mcp(command=["npx", "-y", "@modelcontextprotocol/server-everything", "stdio"])])
    """
    if isinstance(command, str) or bool(command) == bool(url):
        raise InputError("give command, a list such as ['npx', '-y', 'some-server'], or url, and not both")
    if not (timeout > 0 and startup > 0) or warm < 0 or retries < 0:
        raise InputError(
            f"timeout {timeout} and startup {startup} must be above 0, warm {warm} and retries {retries} not below"
        )
    if limit is not None and limit < 1:
        raise InputError(f"a limit of {limit} calls at a time lets none through; give 1 or more, or None for no limit")
    if servers is not None and servers < 1:
        raise InputError(f"{servers} servers let no rollout begin; give 1 or more, or None for no limit")
    server = Server(
        tuple(command), url, dict(env or {}), None if cwd is None else Path(cwd), check_headers(headers or {})
    )
    shared_limit = None if limit is None else Limit(limit)
    look = {"timeout": timeout, "timeout_is": timeout_is, "max_chars": max_chars, "cost": cost, "limit": shared_limit}
    chosen = _Chosen(prefix, only, repeatable, retries)
    return McpTools(server, chosen, shared, 1 if shared else warm, startup, look, None if shared else servers)


class _Chosen(NamedTuple):
    """What the user says of a server's tools, by the server's names."""

    prefix: str
    only: Collection[str] | None
    repeatable: Collection[str] | None
    retries: int

    def of(self, listed: Collection[str], server: Server) -> list[str]:
        """The names wanted, in the server's order."""
        missing = sorted({*(self.only or ()), *(self.repeatable or ())} - set(listed))
        if missing:
            raise InputError(f"{server!r} has no tools {missing}; it has {sorted(listed)}")
        return [name for name in listed if self.only is None or name in self.only]

    def retries_of(self, name: str, annotations: Any) -> int:
        """How often a call may be repeated. A server that marks a tool wrongly harms itself alone."""
        marked = annotations is not None and (annotations.read_only_hint or annotations.idempotent_hint)
        safe = marked if self.repeatable is None else name in self.repeatable
        return self.retries if safe else 0


class McpTools:
    """The factory that `mcp` makes."""

    def __init__(
        self,
        server: Server,
        chosen: _Chosen,
        shared: bool,
        warm: int,
        startup: float,
        look: dict[str, Any],
        most: int | None,
    ):
        self._server, self._chosen = server, chosen
        self._shared = shared
        self._warm = warm
        self._startup = startup
        self._look = look
        self.most = most
        """Sessions that may be open at a time; None: as many as are wanted."""
        self._noisy = False
        self._ready: collections.deque[McpSession] = collections.deque()
        self._offered: list[ToolSchema] | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<tools of {self._server!r}>"

    def __call__(self) -> list[Tool]:
        """The tools of a session that no other rollout has."""
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
        """End the sessions that are shared, or warm and unused. Those of rollouts end with them."""
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
        """Say once that a server writes what is no message."""
        if session.noise and not self._noisy:
            self._noisy = True
            LOGGER.warning(
                "%r wrote %d lines that are no messages where messages belong; they are passed over: %s",
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
        """The session that all share: another one where that has ended by itself."""
        with self._lock:
            if not self._ready:
                raise InfrastructureError(f"{self!r} were closed")
            return self._first()

    def _first(self) -> McpSession:
        while self._ready and not self._ready[0].usable:
            self._ready.popleft().begin_closing()
        while len(self._ready) < max(self._warm, 1):
            self._ready.append(self._begin())
        return self._ready[0]

    def _tools(self, session: McpSession) -> list[Tool]:
        listed = {tool.name: tool for tool in session.tools}
        names = self._chosen.of(listed, self._server)
        if not names:
            raise ToolDefinitionError(f"{self._server!r} offers no tools")
        owner = _Shared(session) if self._shared else session
        find = self._current if self._shared else lambda: session
        made, taken = list[Tool](), set[str]()
        try:
            for tool in (listed[name] for name in names):
                name = _writable(self._chosen.prefix + tool.name, taken)
                schema = ToolSchema(name, _described(tool.description or ""), _schema(tool.name, tool.input_schema))
                retries = self._chosen.retries_of(tool.name, tool.annotations)
                made.append(declared(schema, _carry(find, tool.name), owner=owner, retries=retries, **self._look))
        except ToolDefinitionError as error:
            if self._offered is None:
                raise
            raise InfrastructureError(f"{self._server!r} offers other tools than at first: {error}") from error
        return made


class _Shared:
    """What owns the tools of a shared session in one rollout: closing it ends nothing."""

    def __init__(self, session: McpSession):
        self.session = session

    def close(self) -> None:
        """Others go on using the session."""


def _carry(find: Callable[[], McpSession], name: str) -> Any:
    async def carry(arguments: dict[str, Any], context: ToolContext) -> str:
        return await find().call(name, arguments, context.key)

    return carry


def _writable(name: str, taken: set[str]) -> str:
    """The name as a policy can write it, unlike any in `taken`, to which it is added."""
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
    """How the tools of a session differ from those of the first one."""
    names = [[tool.name for tool in tools] for tools in (first, now)]
    if names[0] != names[1]:
        return f"offers {names[1][:50]} now; at first it offered {names[0][:50]}"
    other = next(new.name for old, new in zip(first, now) if new != old)
    return f"describes its tool {other!r} otherwise than at first, so attempts could not be compared"


def _described(text: str) -> str:
    return truncate(text, limit=MAX_DESCRIPTION, drop="tail")


def _schema(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its descriptions cut, if it is not too large to show."""
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
