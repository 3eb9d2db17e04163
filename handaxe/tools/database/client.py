"""Pool of worker processes that answer queries; hanging workers are killed."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from handaxe.core.errors import InfrastructureError, InputError

__all__ = ["OUT_OF_MEMORY", "QueryPool"]

PROGRAM = Path(__file__).with_name("query_worker.py")
START = 60.0
"""Seconds for a worker to import its database and open the file."""
GRACE = 1.0
"""Seconds beyond the limit for a worker to stop the query itself."""
OUT_OF_MEMORY = "the query needs too much memory"
"""Reply to a query that killed two workers."""
MAX_REPLY = 64 * 2**20
"""Bytes of the longest reply."""


class _DiedError(Exception):
    """The worker died during a query, or had to be killed; `late` is True after a timeout."""

    def __init__(self, *, late: bool):
        super().__init__()
        self.late = late


class QueryPool:
    """Workers for a database file; any number of threads may query at once, `workers` of them at a time.

    A worker starts on demand and is reused. Workers end when the pool is closed or garbage-collected, or this process
    ends. A forked process starts its own workers.
    """

    def __init__(self, settings: dict[str, Any], *, workers: int):
        self.settings, self.slots = settings, threading.BoundedSemaphore(workers)
        self.lock = threading.Lock()
        self.idle: list[_Worker] = []
        self.process = os.getpid()
        self.finalizer = weakref.finalize(self, _stop_all, self.idle)
        first = _Worker(settings)
        self.schema = first.schema
        self.idle.append(first)

    def query(self, sql: str) -> dict[str, Any]:
        """Answer a query as `handaxe.tools.database.query_worker.answer_query` does.

        A query that exceeds its time ends with its worker. If a worker dies otherwise, the query runs once more in a
        new worker; if that worker dies, too, the query is at fault and the reply is an error.

        Raises:
            InfrastructureError: a worker cannot be started.
        """
        with self.slots:
            for _ in range(2):
                worker = self._take()
                try:
                    reply = worker.ask(sql, self.settings["seconds"] + GRACE)
                except _DiedError as died:
                    worker.stop()
                    if died.late:
                        seconds = self.settings["seconds"]
                        return {"error": f"the query took longer than {seconds:g} seconds and was stopped"}
                except BaseException:
                    worker.stop()
                    raise
                else:
                    self._give_back(worker, last=reply.pop("last"))
                    return reply
            return {"error": OUT_OF_MEMORY}

    def _give_back(self, worker: _Worker, *, last: bool) -> None:
        if last:
            worker.stop()
            return
        with self.lock:
            self.idle.append(worker)

    def close(self) -> None:
        """End the idle workers."""
        with self.lock:
            _stop_all(self.idle)

    def _take(self) -> _Worker:
        with self.lock:
            if self.process != os.getpid():  # after a fork the pipes belong to the parent
                self.process = os.getpid()
                self.idle.clear()
            if self.idle:
                return self.idle.pop()
        try:
            return _Worker(self.settings)
        except (InputError, OSError) as error:
            raise InfrastructureError(f"a database worker cannot be started: {error}") from error


class _Worker:
    """Worker process."""

    def __init__(self, settings: dict[str, Any]):
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"MALLOC_ARENA_MAX": "1"},  # an arena reserves 64 MiB of the limited address space
            bufsize=0,
        )
        try:
            reply = self._exchange(settings, START)
        except BaseException as error:
            self.stop()
            if isinstance(error, _DiedError):
                raise InputError(f"{settings['path']!r} cannot be opened: the worker ended") from None
            raise
        if "error" in reply:
            self.stop()
            raise InputError(f"{settings['path']!r} cannot be opened: {reply['error']}")
        self.schema: list[Any] = reply["ready"]

    def ask(self, sql: str, seconds: float) -> dict[str, Any]:
        """Send a query and return the reply; raises _DiedError."""
        return self._exchange({"sql": sql}, seconds)

    def stop(self) -> None:
        """Kill the process and wait for its end."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.process.wait()

    def _exchange(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        end, received = time.monotonic() + seconds, bytearray()
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
        except OSError:
            raise _DiedError(late=False) from None
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while not received.endswith(b"\n"):
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise _DiedError(late=True)
                part = os.read(stdout.fileno(), 2**16)
                if not part or len(received) > MAX_REPLY:
                    raise _DiedError(late=False)
                received += part
        reply = json.loads(received)
        assert isinstance(reply, dict)
        return reply


def _stop_all(workers: list[_Worker]) -> None:
    while workers:
        workers.pop().stop()
