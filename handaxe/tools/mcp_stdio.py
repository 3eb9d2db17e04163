"""MCP server as a child process, connected to the SDK's client. No process outlives this program.

`mcp_relay`, a small program between client and server, adds what the SDK's client lacks: a limit on the length of a
line, the end of the whole process group even if the server exits by itself or this program dies, and a report of the
server's end. The decoder below joins long lines in linear time.
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

__all__ = ["FOLDER", "MAX_MESSAGE", "StdioServerProcess"]

MAX_MESSAGE = 64 * 2**20
"""Bytes of the longest message. A server that writes a longer line is stopped."""
INHERITED = ("LANG", "LC_ALL")
"""Environment variables passed to a server in addition to the SDK's; none of them is secret."""
FOLDER = "{folder}"
"""Placeholder for the session's folder in a server's command and variables."""
RELAY = str(Path(__file__).with_name("mcp_relay.py"))

WHOLE_LINES = "handaxe_whole_lines"
"""UTF-8 codec whose decoder returns whole lines only. The SDK appends every 64 KiB to the whole earlier text of a line,
which takes a minute for the longest message, on the event loop that all sessions share; whole lines avoid this.
"""


class _WholeLines(codecs.IncrementalDecoder):
    def __init__(self, errors: str = "strict"):
        super().__init__(errors)
        self._held: list[bytes] = []

    def decode(self, data: Any, final: bool = False) -> str:
        """Return the lines completed by the bytes."""
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

# The SDK logs every line that is no message with a traceback, which Python prints if there is no handler.
logging.getLogger("mcp.client.stdio").addHandler(logging.NullHandler())


class StdioServerProcess:
    """Server process with a transport for an MCP session and a final report.

    The process has its own process group and session. Its working directory and TMPDIR are a new folder, deleted at the
    end; its environment is the SDK's variables, `INHERITED` and `env`.

    Args:
        command: program and arguments; FOLDER stands for that folder.
        env: further environment variables, FOLDER replaced in their values.
        cwd: another working directory, which is not deleted.
    """

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path | None):
        self.command = list(command)
        self.env = dict(env)
        self.cwd = cwd
        self._report: TextIO | None = None
        self._last_report: dict[str, Any] = {}

    @property
    def pid(self) -> int | None:
        """Return the server's process id; None before its start."""
        return self._known().get("pid")

    @property
    def noise(self) -> int:
        """Count the lines of stdout without the look of a message."""
        return self._known().get("noises", 0)

    def last_words(self) -> str:
        """Describe the server's end: exit status, a violated rule, output that is no message, the last lines of
        stderr."""
        known = self._known()
        parts = [known["fault"]] if known.get("fault") else []
        code = known.get("status")
        if code is not None:
            parts.append(f"it exited with status {code}" if code >= 0 else f"signal {-code} ended it")
        if known.get("noise"):
            count = known.get("noises", 1)
            lines = "a line that is no message" if count == 1 else f"{count} lines that are no messages, the first"
            parts.append(f"its stdout had {lines}: {known['noise']!r}")
        if known.get("tail"):
            parts.append(f"the end of its stderr:\n{known['tail']}")
        return "; ".join(parts)

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[Any]:
        """Start the server and yield the two streams of an MCP transport; stop the server at the end.

        Raises:
            InfrastructureError: the program cannot be started.
        """
        with (
            tempfile.TemporaryDirectory(prefix="handaxe-mcp-", ignore_cleanup_errors=True) as folder,
            tempfile.TemporaryFile("w+") as self._report,
        ):
            server = StdioServerParameters(
                command=sys.executable,
                args=[
                    "-I",
                    "-S",
                    RELAY,
                    str(MAX_MESSAGE),
                    folder,
                    *(part.replace(FOLDER, folder) for part in self.command),
                ],
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
                self._last_report, self._report = self._known(), None
                # Without a status the relay itself was killed, and did not kill the group.
                if "group" in self._last_report and "status" not in self._last_report:
                    with suppress(OSError):
                        os.killpg(self._last_report["group"], signal.SIGKILL)
                if "unstarted" in self._last_report:
                    raise self._unstarted(self._last_report["unstarted"])

    def _unstarted(self, why: object) -> InfrastructureError:
        return InfrastructureError(f"{self.command[0]!r} cannot be started: {why}")

    def _known(self) -> dict[str, Any]:
        """Read the relay's report so far."""
        if self._report is None:
            return self._last_report
        known: dict[str, Any] = {}
        for line in os.pread(self._report.fileno(), 2**16, 0).split(b"\n")[:-1]:
            with suppress(ValueError):
                known |= json.loads(line)
        return known
