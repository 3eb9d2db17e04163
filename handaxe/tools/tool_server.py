"""Tools in a server process beside training: `handaxe serve` over HTTP, started again after its end.

Kept: `--tool-server` of every run.
"""

from __future__ import annotations

import collections
import logging
import os
import re
import secrets
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import handaxe
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.import_string import attribute
from handaxe.tools.decorator import Tool
from handaxe.tools.mcp import McpTools, mcp
from handaxe.tools.tool_owners import import_path

__all__ = ["ToolServer", "tool_name"]

LOGGER = logging.getLogger(__name__)

ANNOUNCED = re.compile(r"^serving .* at (http://\S+)$")
TOKEN = "HANDAXE_TOOL_SERVER_TOKEN"
WORDS = 20
"""Lines of the server's stderr in the message of an error."""
WORKERS = 64
"""Calls that the server runs at the same time."""
STOP = 5.0
"""Seconds for the server to exit before it is killed."""


def tool_name(tool: Any) -> str:
    """Name of a tool as MODULE:ATTRIBUTE, for another process.

    Args:
        tool: a tool of a module's function, or a class or function that makes tools.

    Raises:
        InputError: the tool has no such name: a lambda, a method, or a list.

    Example:
        tool_name(calculator) == "handaxe.tools.calculator:calculator"
    """
    made = tool.function if isinstance(tool, Tool) else tool
    name = import_path(made) if callable(made) else ""
    try:
        found = attribute(name, noun="tool", example="my_file:my_tool")
    except InputError:
        found = None
    if found is not tool:
        raise InputError(f"--tool-server cannot serve {tool!r:.80}: name it in a module, --tools MODULE:ATTRIBUTE")
    return name


class ToolServer:
    """Factory of tools that run in one server process, for `tool_chat`.

    The process is `handaxe serve NAMES --transport http` at a free port of 127.0.0.1, with a random token. Every
    rollout has a session of its own, and up to 64 calls run at the same time. The process starts with the first
    session. After its death, or after `startup` seconds without a session, sessions in progress end as infra_error,
    without a score, and the next session starts a new process. The process ends with this object, and with this
    program, also if this program is killed.

    Args:
        names: tools as MODULE:ATTRIBUTE, as for `handaxe serve`; modules in the current folder are found.
        startup: seconds until the process, and a session, must be ready.
        timeout: seconds until a call without an answer is an infra_error; limits of tools hold in the server.
        sessions: most sessions at the same time.

    Attributes:
        most: as `sessions`; see `core.protocols.Bounded`.
        starts: processes started so far.

    Raises:
        InfrastructureError: by a call, if the process does not start; the message ends with the last lines of its
            stderr.

    Example:
        env = tool_chat([ToolServer(["handaxe.tools.calculator:calculator", "handaxe.tools.cpython:cpython"])])

    Paper: arXiv:2509.01055 (VerlTool), the tool server.
    Differs: MCP over HTTP in place of its own protocol; a failure of the server ends the rollout unscored, where the
    released code shows the policy an error.
    """

    def __init__(self, names: Sequence[str], *, startup: float = 60.0, timeout: float = 120.0, sessions: int = 256):
        if isinstance(names, str) or not names:
            raise InputError(
                "the tool server needs a list of tools; name them, --tools MODULE:ATTRIBUTE, or as names, "
                "['handaxe.tools.calculator:calculator']"
            )
        self.names = tuple(names)
        self.most = sessions
        self.starts = 0
        self._limits = {"startup": startup, "timeout": timeout, "servers": sessions}
        self._startup = startup
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._tools: McpTools | None = None
        self._finalizer: weakref.finalize[..., ToolServer] | None = None

    def __repr__(self) -> str:
        return f"<tool server of {', '.join(self.names)}>"

    @property
    def pid(self) -> int | None:
        """Id of the running process; None if there is none."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def __call__(self) -> list[Tool]:
        """Make the tools of a new session."""
        with self._lock:
            tools = self._running()
        try:
            return tools()
        except InfrastructureError:
            with self._lock:
                if tools is self._tools:
                    self._stop()
            raise

    def close(self) -> None:
        """Stop the process. A later call starts a new one."""
        with self._lock:
            self._stop()

    def _running(self) -> McpTools:
        if self._tools is not None and self.pid is not None:
            return self._tools
        if self._process is not None:
            LOGGER.warning("%r ended with status %s and is started again", self, self._process.poll())
            self._stop()
        process, url, token = _start(self.names, self._startup)
        self._process = process
        self._finalizer = weakref.finalize(self, _end, process)
        self.starts += 1
        self._tools = mcp(url=url, headers={"Authorization": f"Bearer {token}"}, **self._limits)  # type: ignore[arg-type]
        return self._tools

    def _stop(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._process = self._tools = self._finalizer = None


def _start(names: Sequence[str], startup: float) -> tuple[subprocess.Popen[bytes], str, str]:
    """Start the process; returns process, URL and token."""
    token = secrets.token_urlsafe(32)
    package = str(Path(handaxe.__file__).parents[1])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    address = ["--transport", "http", "--port", "0", "--token-env", TOKEN]
    options = [*address, "--until-eof", "--workers", str(WORKERS)]
    process = subprocess.Popen(
        [sys.executable, "-m", "handaxe", "serve", *names, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), TOKEN: token},
        start_new_session=True,
    )
    words = collections.deque[str](maxlen=WORDS)
    announced = threading.Event()
    urls: list[str] = []
    reader = threading.Thread(target=_read, args=(process, words, urls, announced), daemon=True)
    reader.start()
    if announced.wait(startup) and not urls:
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP)
    if not urls:
        status = process.poll()
        _end(process)
        reader.join(STOP)
        reason = f"is not ready after {startup:g} seconds" if status is None else f"ended with status {status}"
        raise InfrastructureError(f"the tool server of {', '.join(names)} {reason}: {' '.join(words)}")
    return process, urls[0], token


def _read(
    process: subprocess.Popen[bytes], words: collections.deque[str], urls: list[str], announced: threading.Event
) -> None:
    """Read the server's stderr until its end."""
    assert process.stderr is not None
    with process.stderr as lines:
        for line in lines:
            text = line.decode(errors="replace").rstrip()
            words.append(text)
            if found := ANNOUNCED.match(text):
                urls.append(found[1])
                announced.set()
    announced.set()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the server's stdin, and kill the process if it does not exit."""
    assert process.stdin is not None
    process.stdin.close()
    until = time.monotonic() + STOP
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()
    process.wait()
