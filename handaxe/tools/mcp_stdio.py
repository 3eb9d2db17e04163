"""Runs an MCP server as a process and talks to it with the SDK's client. Nothing of it outlives the one who started it.

What the SDK's client lacks stands in `mcp_relay`, a small program between the two: a limit on the length of a line,
the end of the whole process group also where the server exits by itself or this program dies, and what is known
afterwards of how it went. And a decoder here joins long lines in time that grows with their length only.
"""

from __future__ import annotations

import codecs
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from handaxe.core.errors import InfrastructureError, InputError

try:
    from mcp.client.stdio import StdioServerParameters, stdio_client
except ImportError as error:
    raise InputError("MCP needs its SDK: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["FOLDER", "MAX_MESSAGE", "Process"]

MAX_MESSAGE = 64 * 2**20
"""Bytes of the longest message. A server that writes a longer line is stopped."""
INHERITED = ("LANG", "LC_ALL")
"""Environment variables that a server sees besides those that the SDK passes on; none of them is a secret."""
FOLDER = "{folder}"
"""In a server's command and variables: the folder of its own."""
RELAY = str(Path(__file__).with_name("mcp_relay.py"))

WHOLE_LINES = "handaxe_whole_lines"
"""UTF-8 whose decoder hands on whole lines only. The SDK joins a line by adding every 64 KiB to all that came before,
which takes a minute for the longest message, on the event loop that all sessions share; so it is given whole ones."""


class _WholeLines(codecs.IncrementalDecoder):
    def __init__(self, errors: str = "strict"):
        super().__init__(errors)
        self._held: list[bytes] = []

    def decode(self, data: Any, final: bool = False) -> str:
        """The lines that end in these bytes."""
        self._held.append(bytes(data))
        if b"\n" not in data:
            return ""
        lines, _, rest = b"".join(self._held).rpartition(b"\n")
        self._held = [rest]
        return lines.decode(errors=self.errors) + "\n"


def _codec(name: str) -> codecs.CodecInfo | None:
    if name != WHOLE_LINES:
        return None
    utf8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(utf8.encode, utf8.decode, name=name, incrementaldecoder=_WholeLines)


codecs.register(_codec)

# The SDK logs every line that is no message with a traceback; without a handler Python would print that.
logging.getLogger("mcp.client.stdio").addHandler(logging.NullHandler())


class Process:
    """A server's process: its transport for one MCP session, and what is left of it afterwards.

    It is in a process group and session of its own. Its working directory and TMPDIR are a folder of its own that is
    deleted at the end, and its environment is what the SDK passes on, `INHERITED` and `env`.

    Args:
        command: program and arguments; FOLDER in them stands for that folder.
        env: further environment variables, in whose values it does too.
        cwd: another working directory, which is kept.
    """

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path | None):
        self.command = list(command)
        self.env = dict(env)
        self.cwd = cwd
        self._report: TextIO | None = None
        self._heard: dict[str, Any] = {}

    @property
    def pid(self) -> int | None:
        """Of the server, or None before it was started."""
        return self._known().get("pid")

    @property
    def noise(self) -> int:
        """How many lines of its stdout did not look like messages."""
        return self._known().get("noises", 0)

    def last_words(self) -> str:
        """What is known of how it went: exit status, a broken rule, what was no message, the end of stderr."""
        known = self._known()
        parts = [known["fault"]] if known.get("fault") else []
        code = known.get("status")
        if code is not None:
            parts.append(f"it exited with status {code}" if code >= 0 else f"signal {-code} ended it")
        if known.get("noise"):
            count = known.get("noises", 1)
            lines = "a line that is no message" if count == 1 else f"{count} lines that are no messages, the first"
            parts.append(f"its stdout held {lines}: {known['noise']!r}")
        if known.get("tail"):
            parts.append(f"the end of its stderr:\n{known['tail']}")
        return "; ".join(parts)

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[Any]:
        """Start it and give the two streams of an MCP transport; stop it at the end.

        Raises:
            InfrastructureError: the program cannot be started.
        """
        with (
            tempfile.TemporaryDirectory(prefix="handaxe-mcp-", ignore_cleanup_errors=True) as folder,
            tempfile.TemporaryFile("w+") as self._report,
        ):
            server = StdioServerParameters(
                command=sys.executable,
                args=["-I", "-S", RELAY, str(MAX_MESSAGE), *(part.replace(FOLDER, folder) for part in self.command)],
                env={name: os.environ[name] for name in INHERITED if name in os.environ}
                | {"TMPDIR": folder}
                | {name: value.replace(FOLDER, folder) for name, value in self.env.items()},
                cwd=self.cwd or folder,
                encoding=WHOLE_LINES,
                encoding_error_handler="replace",
            )
            try:
                async with AsyncExitStack() as stack:
                    try:
                        streams = await stack.enter_async_context(stdio_client(server, self._report))
                    except (OSError, ValueError) as error:
                        raise self._unstarted(error) from error
                    yield streams
            finally:
                self._heard, self._report = self._known(), None
                if "group" in self._heard and "status" not in self._heard:  # the relay was killed, so it killed nothing
                    with suppress(OSError):
                        os.killpg(self._heard["group"], signal.SIGKILL)
                if "unstarted" in self._heard:
                    raise self._unstarted(self._heard["unstarted"])

    def _unstarted(self, why: object) -> InfrastructureError:
        return InfrastructureError(f"{self.command[0]!r} cannot be started: {why}")

    def _known(self) -> dict[str, Any]:
        """What the relay has said so far."""
        if self._report is None:
            return self._heard
        known: dict[str, Any] = {}
        for line in os.pread(self._report.fileno(), 2**16, 0).split(b"\n")[:-1]:
            with suppress(ValueError):
                known |= json.loads(line)
        return known
