"""Relay between the SDK's client and an MCP server: a standalone program that imports nothing of handaxe.

    python -I -S mcp_relay.py LONGEST FOLDER PROGRAM ARGUMENT ...

It leads the process group that the SDK made, and the server is in that group. Stdin is passed to the server unchanged;
of the server's stdout only lines that begin like a message are passed on, each of at most LONGEST bytes. When either
end is over, because the client is done, its program died or the server closed its stdout, the server has GRACE seconds
to exit, the group gets a SIGTERM and as many seconds again, FOLDER is deleted (a killed client cannot delete it), and
then the whole group is killed, this program included.

It reports on stderr as JSON lines: {"group", "pid"} once the server runs; "unstarted" with the reason if it does not;
{"noise", "noises"}, the first line that is no message and their number, whenever the number is a power of two; and at
the end {"fault", "status", "tail", "noises"}.
"""

import collections
import json
import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import threading
from typing import IO

__all__ = ["GRACE", "MessageLines", "TooLongError"]

GRACE = 0.9
"""Seconds for the server to exit after its input ended, and again after SIGTERM. The SDK escalates after 2."""
TAIL = 2_000
"""Stored bytes of the end of the server's stderr."""
CHUNK = 2**16


class TooLongError(Exception):
    """A line exceeds the limit of bytes."""


class MessageLines:
    """Filter for a stream: passes on the lines that begin with "{", in constant memory.

    Args:
        longest: bytes of a line, of either kind.
    """

    def __init__(self, longest: int):
        self.longest, self.size = longest, 0
        self.message: bool | None = None  # kind of the present line; None for blanks only so far
        self.noise, self.noises = b"", 0

    def take(self, chunk: bytes) -> bytes:
        """Return the part of the next bytes that is passed on. Raises TooLongError."""
        out = []
        for number, part in enumerate(chunk.split(b"\n")):
            if number:
                if self.message:
                    out.append(b"\n")
                self.size, self.message = 0, None
            self.size += len(part)
            if self.size > self.longest:
                raise TooLongError
            rest = part if self.message is not None else part.lstrip(b" \t\r")
            if self.message is None and rest:
                self.message = rest.startswith(b"{")
                self.noises += not self.message
                self.noise = self.noise or (b"" if self.message else rest[:200])
            if self.message:
                out.append(rest)
        return b"".join(out)


def _report(facts: dict[str, object]) -> None:
    os.write(2, json.dumps(facts).encode() + b"\n")


def _feed(pipe: IO[bytes], over: "queue.SimpleQueue[str]") -> None:
    """Pass stdin to the server. A server that does not read cannot hide the client's end."""
    os.set_blocking(pipe.fileno(), False)
    look = select.poll()
    look.register(0, 0)  # reports only that the other end is closed
    look.register(pipe, select.POLLOUT)
    try:
        while data := os.read(0, CHUNK):
            while data:
                for file, _ in look.poll():
                    if file == 0:
                        over.put("")
                        look.unregister(0)
                    else:
                        data = data[os.write(file, data) :]
    except OSError:
        pass  # the server closed its stdin
    over.put("")
    pipe.close()


def _forward(pipe: IO[bytes], lines: MessageLines, over: "queue.SimpleQueue[str]") -> None:
    """Pass the server's messages to stdout."""
    reported = 0
    try:
        while chunk := pipe.read(CHUNK):
            data = lines.take(chunk)
            if lines.noises.bit_length() > reported:
                reported = lines.noises.bit_length()
                _report({"noise": lines.noise.decode(errors="replace"), "noises": lines.noises})
            while data:
                data = data[os.write(1, data) :]
    except TooLongError:
        over.put(f"it wrote a line of more than {lines.longest} bytes")
    except OSError:
        pass  # the client has ended
    over.put("")


def _collect(pipe: IO[bytes], tail: "collections.deque[bytes]") -> None:
    while chunk := pipe.read(512):
        tail.append(chunk)


def _exited(server: "subprocess.Popen[bytes]") -> bool:
    """Test whether the server exits within GRACE seconds."""
    try:
        server.wait(GRACE)
    except subprocess.TimeoutExpired:
        return False
    return True


def _run(longest: int, command: list[str]) -> None:
    pipe = subprocess.PIPE
    try:
        server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
    except (OSError, ValueError) as error:
        _report({"unstarted": str(error)})
        return
    _report({"group": os.getpid(), "pid": server.pid})
    over: queue.SimpleQueue[str] = queue.SimpleQueue()
    words: collections.deque[bytes] = collections.deque(maxlen=TAIL // 512 + 16)
    lines = MessageLines(longest)
    for work in (_feed, server.stdin, over), (_forward, server.stdout, lines, over):
        threading.Thread(target=work[0], args=work[1:], daemon=True).start()
    listener = threading.Thread(target=_collect, args=(server.stderr, words), daemon=True)
    listener.start()
    fault = over.get()
    if not fault and not _exited(server):
        os.killpg(0, signal.SIGTERM)
        _exited(server)
    listener.join(0.2)
    tail = b"".join(words)[-TAIL:].decode(errors="replace").strip()
    _report({"fault": fault, "status": server.poll(), "tail": tail, "noises": lines.noises})


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the server would inherit
    _run(int(sys.argv[1]), sys.argv[3:])
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    os.killpg(0, signal.SIGKILL)
