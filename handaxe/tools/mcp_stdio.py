"""Runs an MCP server as a process and talks to it over its pipes. Nothing of it outlives the one who started it."""

from __future__ import annotations

import asyncio
import collections
import functools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from handaxe.errors import InfrastructureError, InputError

try:
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter
except ImportError as error:
    raise InputError("MCP needs its SDK: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["MAX_MESSAGE", "Process"]

MAX_MESSAGE = 64 * 2**20
"""Bytes of the longest message. A server that writes a longer line is stopped."""
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""Environment variables that a server sees without being given them; none of them is a secret."""
GRACE = 1.0
"""Seconds a server has to exit after its input ended, and again after SIGTERM."""
TAIL = 2_000
"""Bytes of a server's last words on stderr that are kept."""

GUARD = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
"""A program that kills the process groups it was told of when whoever told it is gone, whatever that died of."""


class Process:
    """A server's process: its transport for one MCP session, and what is left of it afterwards.

    It leads a process group and session of its own. Its working directory and TMPDIR are a folder of its own that is
    deleted at the end, and its environment is `INHERITED` and `env`.

    Args:
        command: program and arguments.
        env: further environment variables.
        cwd: another working directory, which is kept.
    """

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path | None):
        self.command, self.env, self.cwd = list(command), dict(env), cwd
        self.popen: subprocess.Popen[bytes] | None = None
        self.words: collections.deque[bytes] = collections.deque(maxlen=16)
        self.noise, self.fault = "", ""

    @property
    def pid(self) -> int | None:
        """Of the process, or None before it was started."""
        return self.popen.pid if self.popen else None

    def last_words(self) -> str:
        """What is known of how it went: exit status, a broken rule, the end of stderr, what was no message."""
        parts = [self.fault] if self.fault else []
        code = _exit_status(self.popen) if self.popen else None
        if code is not None:
            parts.append(f"it exited with status {code}" if code >= 0 else f"signal {-code} ended it")
        if self.noise:
            parts.append(f"its stdout held a line that is no message: {self.noise!r}")
        said = b"".join(self.words)[-TAIL:].decode(errors="replace").strip()
        if said:
            parts.append(f"the end of its stderr:\n{said}")
        return "; ".join(parts)

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[Any]:
        """Start it and give the two streams of an MCP transport; stop it at the end.

        Raises:
            InfrastructureError: the program cannot be started.
        """
        with self._started() as popen:
            read_in, read_out = anyio.create_memory_object_stream[Any](0)
            write_in, write_out = anyio.create_memory_object_stream[Any](0)
            tasks = [
                asyncio.ensure_future(work)
                for work in (self._read(popen, read_in), self._write(popen, write_out, read_in), self._listen(popen))
            ]
            try:
                yield read_out, write_in
            finally:
                for task in tasks[:2]:
                    task.cancel()
                try:
                    await _wind_down(popen)
                    await asyncio.wait({tasks[2]}, timeout=0.2)  # its last words
                finally:
                    for task in tasks:
                        task.cancel()
                    for stream in (read_in, read_out, write_in, write_out):
                        stream.close()

    @contextmanager
    def _started(self) -> Iterator[subprocess.Popen[bytes]]:
        with tempfile.TemporaryDirectory(prefix="handaxe-mcp-", ignore_cleanup_errors=True) as folder:
            env = {name: os.environ[name] for name in INHERITED if name in os.environ}
            guard = _guard(os.getpid())
            try:
                self.popen = subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=self.cwd or folder,
                    env={**env, "TMPDIR": folder, **self.env},
                    start_new_session=True,
                    bufsize=0,
                )
            except (OSError, ValueError) as error:
                raise InfrastructureError(f"{self.command[0]!r} cannot be started: {error}") from error
            _tell(guard, f"+{self.popen.pid}")
            try:
                yield self.popen
            finally:
                # The group is killed before its leader is reaped: until then nobody else can have its number.
                with suppress(OSError):
                    os.killpg(self.popen.pid, signal.SIGKILL)
                _tell(guard, f"-{self.popen.pid}")
                self.popen.wait()

    async def _read(self, popen: subprocess.Popen[bytes], inbox: Any) -> None:
        """Every line of stdout that is a message, to the session; at the end its inbox is closed."""
        line = bytearray()
        with inbox:
            try:
                reader = await _reader(popen.stdout)
                while chunk := await reader.read(2**16):
                    *whole, rest = chunk.split(b"\n")
                    for part in whole:
                        await self._deliver(bytes(line + part), inbox)
                        line.clear()
                    line += rest
                    if len(line) > MAX_MESSAGE:
                        self.fault = f"it wrote a line of more than {MAX_MESSAGE} bytes"
                        return
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                return

    async def _deliver(self, line: bytes, inbox: Any) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self.noise = self.noise or line[:200].decode(errors="replace")
            return
        await inbox.send(SessionMessage(message))

    async def _write(self, popen: subprocess.Popen[bytes], outbox: Any, inbox: Any) -> None:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, popen.stdin)
        writer = asyncio.StreamWriter(transport, protocol, None, loop)
        try:
            async for message in outbox:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(text.encode(errors="replace") + b"\n")
                await writer.drain()
        except (OSError, anyio.ClosedResourceError):
            inbox.close()  # nobody hears a request any more, so nobody may wait for an answer
        finally:
            transport.abort()  # the end of its input, which tells a server to go

    async def _listen(self, popen: subprocess.Popen[bytes]) -> None:
        reader = await _reader(popen.stderr)
        while words := await reader.read(512):
            self.words.append(words)


async def _reader(pipe: IO[bytes] | None) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _wind_down(popen: subprocess.Popen[bytes]) -> None:
    """Give it time to exit by itself, then ask it to; who started it kills what is left."""
    await asyncio.sleep(0)  # the writer's task closes the server's input
    if not await _exited(popen):
        with suppress(OSError):
            os.killpg(popen.pid, signal.SIGTERM)
        await _exited(popen)


async def _exited(popen: subprocess.Popen[bytes]) -> bool:
    """Whether it exits within GRACE seconds. It is not reaped, so its number stays taken."""
    for _ in range(int(GRACE / 0.01)):
        if _exit_status(popen) is not None:
            return True
        await asyncio.sleep(0.01)
    return False


def _exit_status(popen: subprocess.Popen[bytes]) -> int | None:
    """Its exit status, or minus the signal that ended it; None while it runs. Does not reap it."""
    if popen.returncode is not None:
        return popen.returncode
    try:
        found = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return popen.poll()
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def _tell(guard: subprocess.Popen[bytes], line: str) -> None:
    with suppress(OSError, ValueError):
        guard.stdin.write(f"{line}\n".encode())  # type: ignore[union-attr]


@functools.cache
def _guard(process: int) -> subprocess.Popen[bytes]:
    """The guard of one process (by id: one that was forked off needs its own)."""
    del process
    command = [sys.executable, "-I", "-S", "-c", GUARD]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, bufsize=0)
