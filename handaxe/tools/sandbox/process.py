"""Host side of a sandboxed worker: request, bounded answer, interrupt, freeze, kill."""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import socket
import struct
import subprocess
import time
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from handaxe.tools.sandbox.limits import Limits

__all__ = ["SessionResult", "Worker"]

GRACE = 0.5
"""Seconds for interrupted code to stop before it is killed."""
TICK = 0.05
"""Seconds between checks of the clock and the private folder."""
CHUNK = 2**16
MOST_CHUNKS = 64
"""Four times the largest capacity of a pipe, 1 MiB."""
HEADER = struct.Struct(">I")
NONCE = 16
SLACK = 2**16
"""Bytes of an answer beyond the shown output."""

Stop = Literal["", "time", "output", "files", "protocol", "died"]


class SessionResult(NamedTuple):
    """Result of a call; all text was written by the session and is untrusted.

    text: the value of the last expression, or a traceback if `failed`.
    stop: "" for a call that ended by itself; else the limit that ended it, or "died", or "protocol" for an invalid
    answer.
    alive: the session's names and files still exist.
    status: of the dead process, as bubblewrap reports it (128 + signal); 0 while alive.
    """

    printed: str
    text: str = ""
    failed: bool = False
    stop: Stop = ""
    alive: bool = True
    status: int = 0


class Worker:
    """Process in the sandbox, used by one session and then destroyed. Made by `launch`.

    Between calls the whole sandbox is stopped (SIGSTOP), so that leftover threads do not run.
    """

    def __init__(self, process: subprocess.Popen, group: int, channel: socket.socket, output: int, limits: Limits):
        self.process = process
        self.group = group
        self.socket = channel
        self.output = output
        self.limits = limits
        self.folder: int | None = None
        self.owner = os.getpid()
        os.set_blocking(output, False)

    @property
    def alive(self) -> bool:
        """Test whether the sandbox still runs."""
        return self.owner == os.getpid() and self.folder is not None and self.process.poll() is None

    def ask(self, message: dict[str, Any], *, seconds: float) -> SessionResult:
        """Send a request and wait for the answer, at most `seconds` and the grace time.

        At a limit the code is interrupted as by Ctrl-C, and the session continues; code that ignores the interrupt is
        killed.
        """
        nonce = secrets.token_hex(NONCE // 2)
        body = json.dumps({**message, "nonce": nonce}).encode()
        self._signal(signal.SIGCONT)
        exchange = _Exchange(self, HEADER.pack(len(body)) + body, nonce.encode(), seconds)
        answer = exchange.run()
        return answer if answer.alive else answer._replace(status=self.destroy())

    def crowded(self) -> bool:
        """Test whether the private folder has more files than its size permits."""
        if self.folder is None:
            return False
        facts = os.fstatvfs(self.folder)
        return facts.f_files - facts.f_ffree > max(64, self.limits.disk // 4096)

    def interrupt(self) -> None:
        """Interrupt the code as Ctrl-C does."""
        self._signal(signal.SIGINT)

    def freeze(self) -> None:
        """Stop all processes until the next request."""
        self._signal(signal.SIGSTOP)

    def destroy(self) -> int:
        """Kill all processes, release all resources, and return the exit status; 0 in a second call."""
        if self.owner != os.getpid() or self.socket.fileno() < 0:
            return 0
        if self.process.poll() is None:
            self._settle()
        self._signal(signal.SIGKILL)
        if self.process.poll() is None:
            # During its setup the process leads no group yet, and would wait for bubblewrap forever.
            with suppress(ProcessLookupError):
                os.kill(self.group, signal.SIGKILL)
        try:
            # bubblewrap exits after reaping its child; killed earlier, it would leave a zombie to init.
            status = self.process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.socket.close()
        os.close(self.output)
        if self.folder is not None:
            os.close(self.folder)
            self.folder = None
        return status

    def _settle(self) -> None:
        """Wait briefly for the exit status of an ending sandbox."""
        with suppress(OSError):
            # The other end is closed only if the process has exited, or pretends to have exited.
            self.socket.settimeout(0)
            if self.socket.recv(1, socket.MSG_PEEK) == b"":
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(timeout=GRACE)

    def _signal(self, number: int) -> None:
        """Signal the process group of the sandbox, which no process can leave."""
        if self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.group, number)


class _Exchange:
    """Request and answer of a call, without blocking on the worker."""

    def __init__(self, worker: Worker, request: bytes, nonce: bytes, seconds: float):
        self.worker, self.nonce = worker, nonce
        self.left = memoryview(request)
        self.answer = bytearray()
        self.printed = bytearray()
        self.count = 0
        self.stop: Stop = ""
        self.deadline = time.monotonic() + seconds
        self.poll = select.poll()
        self.poll.register(worker.socket, select.POLLIN | select.POLLOUT)
        self.poll.register(worker.output, select.POLLIN)

    def run(self) -> SessionResult:
        while not self._is_complete():
            events = self.poll.poll(max(1, int(min(TICK, self.deadline - time.monotonic()) * 1000)))
            for descriptor, event in events:
                if descriptor == self.worker.output:
                    self._read_output(once=True)
                elif not self._talk(event):
                    self._read_output(once=False)
                    return self._end(self.stop or "died", alive=False)
            if self.worker.crowded():
                return self._end("files", alive=False)
            if time.monotonic() > self.deadline and not self._interrupt_once("time"):
                return self._end(self.stop, alive=False)
            if self.count > self.worker.limits.output:
                self._interrupt_once("output")
        # Frozen first: threads that continue printing would keep the pipe full forever.
        self.worker.freeze()
        self._read_output(once=False)
        return self._judge()

    def _is_complete(self) -> bool:
        """Test whether the answer is complete; the header of an oversized answer suffices."""
        if len(self.answer) < HEADER.size:
            return False
        (length,) = HEADER.unpack_from(self.answer)
        return length > 4 * self.worker.limits.output + SLACK or len(self.answer) >= HEADER.size + length

    def _judge(self) -> SessionResult:
        (length,) = HEADER.unpack_from(self.answer)
        body = bytes(self.answer[HEADER.size :])
        valid = len(body) == length and body.startswith(self.nonce) and body[NONCE : NONCE + 1] in (b"0", b"1")
        if not valid or self.left:
            return self._end("protocol", alive=False)
        if self.worker.crowded():
            return self._end("files", alive=False)
        text = body[NONCE + 1 :].decode(errors="replace")
        return self._end(self.stop, alive=True)._replace(text=text, failed=body[NONCE : NONCE + 1] == b"1")

    def _end(self, stop: Stop, *, alive: bool) -> SessionResult:
        return SessionResult(self.printed.decode(errors="replace"), stop=stop, alive=alive)

    def _interrupt_once(self, reason: Stop) -> bool:
        """Interrupt the code, once; returns False if it was interrupted before and the grace time is over."""
        if self.stop:
            return time.monotonic() <= self.deadline
        self.stop = reason
        self.deadline = time.monotonic() + GRACE
        self.worker.interrupt()
        return True

    def _talk(self, event: int) -> bool:
        """Continue writing to and reading from the socket; returns False if the other end is closed."""
        try:
            if self.left and event & select.POLLOUT:
                self.left = self.left[self.worker.socket.send(self.left[:CHUNK], socket.MSG_DONTWAIT) :]
                if not self.left:
                    self.poll.modify(self.worker.socket, select.POLLIN)
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
                data = self.worker.socket.recv(CHUNK, socket.MSG_DONTWAIT)
                self.answer += data
                return bool(data)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True

    def _read_output(self, *, once: bool) -> None:
        """Read the printed output and store it up to the limit; the rest is only counted."""
        with suppress(BlockingIOError):
            for _ in range(1 if once else MOST_CHUNKS):
                data = os.read(self.worker.output, CHUNK)
                if not data:
                    with suppress(KeyError):
                        self.poll.unregister(self.worker.output)
                    return
                self.count += len(data)
                self.printed += data[: max(0, self.worker.limits.output - len(self.printed))]
