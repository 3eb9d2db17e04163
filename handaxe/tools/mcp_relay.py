"""Runs one MCP server between the SDK's client and itself: a program of its own, which imports nothing of handaxe.

    python -I -S mcp_relay.py LONGEST PROGRAM ARGUMENT ...

It leads the process group that the SDK made, and the server is in that group. Stdin goes to the server as it is; of the
server's stdout only lines go on that begin like a message, and none of more than LONGEST bytes. When either end is
over, because the client is done, its program died or the server closed its stdout, the server has GRACE seconds to
exit, the group gets a SIGTERM and as many again, and then the whole group is killed, this program with it.

On stderr it says as JSON, a line each: {"group", "pid"} once the server runs; "unstarted", why it does not; {"noise",
"noises"}, the first line that is no message and how many there were, whenever that is a power of two; and at the end
{"fault", "status", "tail", "noises"}.
"""

import collections
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
from typing import IO

__all__ = ["GRACE", "Lines", "TooLongError"]

GRACE = 0.9
"""Seconds that a server has to exit after its input ended, and again after SIGTERM. The SDK escalates after 2."""
TAIL = 2_000
"""Bytes of a server's last words on stderr that are kept."""
CHUNK = 2**16


class TooLongError(Exception):
    """A line has more bytes than it may."""


class Lines:
    """Passes on of a stream the lines that begin with "{", in constant memory.

    Args:
        longest: bytes of a line, of either kind.
    """

    def __init__(self, longest: int):
        self.longest, self.size = longest, 0
        self.message: bool | None = None  # the line at hand; None: nothing but blanks so far
        self.noise, self.noises = b"", 0

    def take(self, chunk: bytes) -> bytes:
        """What of the next bytes of the stream goes on. Raises TooLongError."""
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


def _say(what: dict[str, object]) -> None:
    os.write(2, json.dumps(what).encode() + b"\n")


def _feed(pipe: IO[bytes], over: "queue.SimpleQueue[str]") -> None:
    """Stdin to the server. A server that does not read cannot hide that the client is gone."""
    os.set_blocking(pipe.fileno(), False)
    look = select.poll()
    look.register(0, 0)  # tells only that the other end is closed
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


def _forward(pipe: IO[bytes], lines: Lines, over: "queue.SimpleQueue[str]") -> None:
    """The server's messages to stdout."""
    said = 0
    try:
        while chunk := pipe.read(CHUNK):
            data = lines.take(chunk)
            if lines.noises.bit_length() > said:
                said = lines.noises.bit_length()
                _say({"noise": lines.noise.decode(errors="replace"), "noises": lines.noises})
            while data:
                data = data[os.write(1, data) :]
    except TooLongError:
        over.put(f"it wrote a line of more than {lines.longest} bytes")
    except OSError:
        pass  # the client is gone
    over.put("")


def _listen(pipe: IO[bytes], words: "collections.deque[bytes]") -> None:
    while said := pipe.read(512):
        words.append(said)


def _exited(server: "subprocess.Popen[bytes]") -> bool:
    """Whether it exits within GRACE seconds."""
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
        _say({"unstarted": str(error)})
        return
    _say({"group": os.getpid(), "pid": server.pid})
    over: queue.SimpleQueue[str] = queue.SimpleQueue()
    words: collections.deque[bytes] = collections.deque(maxlen=TAIL // 512 + 16)
    lines = Lines(longest)
    for work in (_feed, server.stdin, over), (_forward, server.stdout, lines, over):
        threading.Thread(target=work[0], args=work[1:], daemon=True).start()
    listener = threading.Thread(target=_listen, args=(server.stderr, words), daemon=True)
    listener.start()
    fault = over.get()
    if not fault and not _exited(server):
        os.killpg(0, signal.SIGTERM)
        _exited(server)
    listener.join(0.2)
    tail = b"".join(words)[-TAIL:].decode(errors="replace").strip()
    _say({"fault": fault, "status": server.poll(), "tail": tail, "noises": lines.noises})


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the server would inherit
    _run(int(sys.argv[1]), sys.argv[2:])
    os.killpg(0, signal.SIGKILL)
