"""The host's side of one sandboxed worker: ask, bound the answer, interrupt, freeze, kill."""

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

__all__ = ["Ended", "Worker"]

GRACE = 0.5
"""Seconds that interrupted code has to stop before it is killed."""
TICK = 0.05
"""Seconds between two looks at the clock and the private folder."""
CHUNK = 2**16
MOST_CHUNKS = 64
"""What a pipe can hold at most, 1 MiB, is a quarter of this."""
HEADER = struct.Struct(">I")
NONCE = 16
SLACK = 2**16
"""Bytes of an answer beyond what it may show."""

Stop = Literal["", "time", "output", "files", "protocol", "died"]


class Ended(NamedTuple):
    """What one call came to; all text in it was written by the session.

    text: the value of the last expression, or a traceback when `failed`.
    stop: "" for a call that ended by itself; else which limit ended it, or "died", or "protocol" for an invalid
        answer.
    alive: whether the session's names and files still exist.
    status: of the dead process, as bubblewrap reports it (128 + signal); 0 while alive.
    """

    printed: str
    text: str = ""
    failed: bool = False
    stop: Stop = ""
    alive: bool = True
    status: int = 0


class Worker:
    """A process in the sandbox, used by one session and then destroyed. Made by `start.launch`.

    Between calls the whole sandbox is stopped (SIGSTOP), so that threads left behind get no time.
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
        """Whether the sandbox still runs."""
        return self.owner == os.getpid() and self.folder is not None and self.process.poll() is None

    def ask(self, message: dict[str, Any], *, seconds: float) -> Ended:
        """Send a request and wait for its answer, at most `seconds` and the grace time.

        At a limit the code is interrupted as by Ctrl-C, which keeps the session; code that goes on is killed.
        """
        nonce = secrets.token_hex(NONCE // 2)
        body = json.dumps({**message, "nonce": nonce}).encode()
        self._signal(signal.SIGCONT)
        exchange = _Exchange(self, HEADER.pack(len(body)) + body, nonce.encode(), seconds)
        answer = exchange.run()
        return answer if answer.alive else answer._replace(status=self.destroy())

    def crowded(self) -> bool:
        """Whether the private folder holds more files than its size stands for."""
        if self.folder is None:
            return False
        facts = os.fstatvfs(self.folder)
        return facts.f_files - facts.f_ffree > max(64, self.limits.disk // 4096)

    def interrupt(self) -> None:
        """As Ctrl-C."""
        self._signal(signal.SIGINT)

    def freeze(self) -> None:
        """Give it no time until the next request."""
        self._signal(signal.SIGSTOP)

    def destroy(self) -> int:
        """Kill everything in the sandbox, give back what it held, and return its exit status; again: 0."""
        if self.owner != os.getpid() or self.socket.fileno() < 0:
            return 0
        if self.process.poll() is None:
            self._settle()
        self._signal(signal.SIGKILL)
        if self.process.poll() is None:
            # One that is still being set up leads no group yet, and would wait for bubblewrap for ever.
            with suppress(ProcessLookupError):
                os.kill(self.group, signal.SIGKILL)
        try:
            # bubblewrap ends by itself when it has buried its child; killed first, it would leave a zombie to init.
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
        """A sandbox whose process died by itself ends by itself; give it a moment, so that its status is known."""
        with suppress(OSError):
            # The other end is closed for good only when the process is gone, or hides that it lives.
            self.socket.settimeout(0)
            if self.socket.recv(1, socket.MSG_PEEK) == b"":
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(timeout=GRACE)

    def _signal(self, number: int) -> None:
        """To all processes in the sandbox; its first one leads their group, and none can leave it."""
        if self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.group, number)


class _Exchange:
    """One request and its answer; never blocks on either, whatever the other side does."""

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

    def run(self) -> Ended:
        while not self._whole():
            events = self.poll.poll(max(1, int(min(TICK, self.deadline - time.monotonic()) * 1000)))
            for descriptor, event in events:
                if descriptor == self.worker.output:
                    self._read_output(once=True)
                elif not self._talk(event):
                    self._read_output(once=False)
                    return self._end(self.stop or "died", alive=False)
            if self.worker.crowded():
                return self._end("files", alive=False)
            if time.monotonic() > self.deadline and not self._enough("time"):
                return self._end(self.stop, alive=False)
            if self.count > self.worker.limits.output:
                self._enough("output")
        # Frozen first: threads that go on printing would otherwise keep the pipe full for ever.
        self.worker.freeze()
        self._read_output(once=False)
        return self._judge()

    def _whole(self) -> bool:
        """Whether the answer is there; the announcement of one that is too long is enough."""
        if len(self.answer) < HEADER.size:
            return False
        (length,) = HEADER.unpack_from(self.answer)
        return length > 4 * self.worker.limits.output + SLACK or len(self.answer) >= HEADER.size + length

    def _judge(self) -> Ended:
        (length,) = HEADER.unpack_from(self.answer)
        body = bytes(self.answer[HEADER.size :])
        honest = len(body) == length and body.startswith(self.nonce) and body[NONCE : NONCE + 1] in (b"0", b"1")
        if not honest or self.left:
            return self._end("protocol", alive=False)
        if self.worker.crowded():
            return self._end("files", alive=False)
        text = body[NONCE + 1 :].decode(errors="replace")
        return self._end(self.stop, alive=True)._replace(text=text, failed=body[NONCE : NONCE + 1] == b"1")

    def _end(self, stop: Stop, *, alive: bool) -> Ended:
        return Ended(self.printed.decode(errors="replace"), stop=stop, alive=alive)

    def _enough(self, why: Stop) -> bool:
        """Interrupt the code, once; False when it was interrupted before and the grace time is over."""
        if self.stop:
            return time.monotonic() <= self.deadline
        self.stop = why
        self.deadline = time.monotonic() + GRACE
        self.worker.interrupt()
        return True

    def _talk(self, event: int) -> bool:
        """Go on with writing and reading the socket; False when the other end is closed."""
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
        """Take what was printed, and keep as much of it as the limit allows; the rest is only counted."""
        with suppress(BlockingIOError):
            for _ in range(1 if once else MOST_CHUNKS):
                data = os.read(self.worker.output, CHUNK)
                if not data:
                    with suppress(KeyError):
                        self.poll.unregister(self.worker.output)
                    return
                self.count += len(data)
                self.printed += data[: max(0, self.worker.limits.output - len(self.printed))]
