"""Sandboxes with a loaded harness that runs each program in a forked process."""

from __future__ import annotations

import ast
import json
import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError
from handaxe.tools.sandbox.command import SandboxSpec
from handaxe.tools.sandbox.limits import Limits
from handaxe.tools.sandbox.mounts import find_mounts
from handaxe.tools.sandbox.pool import shared_pool
from handaxe.tools.sandbox.process import Worker

__all__ = ["ForkAnswer", "ForkingRunner"]

CHILD = Path(__file__).with_name("fork_child.py")
WORKERS = max(1, os.cpu_count() or 1)
"""Sandboxes of a runner; more requests wait."""
TRIES = 2
"""Sandboxes that may end at a request."""


class ForkAnswer(NamedTuple):
    """Answer of a harness. value: its JSON, untrusted; None if all sandboxes of the request ended. problem: the reason,
    "" for an answer."""

    value: Any
    problem: str = ""


class ForkingRunner:
    """Sandboxes that load a harness once. Thread-safe; each sandbox runs one request at a time.

    The harness is a file whose text runs in the sandbox. It defines a function of (text, fork_child), JSON in and out,
    that runs untrusted code in `fork_child` alone; see `tools.sandbox.fork_child`.

    Args:
        distributions: mounted distributions, with their requirements.
        harness: the file.
        function: name of the function.
        memory: bytes of address space of a sandbox.
        seconds: of a request, in which the harness may import packages on a busy machine; a child has limits of its
            own.

    Idea: a process that has imported its packages once runs each program in a fork, in milliseconds.
    """

    def __init__(
        self,
        distributions: tuple[str, ...],
        harness: Path,
        function: str,
        *,
        memory: int = 2**29,
        seconds: float = 60.0,
    ):
        limits = Limits(cpu=10**6, memory=memory, disk=2**20, threads=0)
        spec = SandboxSpec(find_mounts(None, distributions), limits, forks=True)
        self._pool = shared_pool(spec, warm=0, live=4 * WORKERS)
        self._harness, self._function = harness, function
        self._seconds = seconds
        self._idle: deque[Worker] = deque()
        self._free = threading.Semaphore(WORKERS)

    def ask(self, request: Mapping[str, Any]) -> ForkAnswer:
        """Send a request to the harness, a second time if its sandbox ends.

        Raises:
            InfrastructureError: a sandbox does not start.
        """
        code = f"{self._function}({json.dumps(request)!r}, fork_child)"
        problem = ""
        for _ in range(TRIES):
            with self._worker() as worker:
                answer = worker.ask({"op": "run", "code": code}, seconds=self._seconds)
                if answer.alive and not answer.stop and not answer.failed:
                    try:
                        return ForkAnswer(json.loads(ast.literal_eval(answer.text)))
                    except (SyntaxError, ValueError, TypeError) as error:
                        problem = f"no JSON: {error}"
                else:
                    problem = answer.stop or answer.text[-300:]
                self._pool.discard(worker)
        return ForkAnswer(None, problem or "the sandbox ended")

    @contextmanager
    def _worker(self) -> Iterator[Worker]:
        """A sandbox with the loaded harness, reused while alive."""
        with self._free:
            worker = self._idle_worker() or self._start()
            try:
                yield worker
            except BaseException:
                self._pool.discard(worker)
                raise
            if worker.alive:
                self._idle.append(worker)

    def _idle_worker(self) -> Worker | None:
        """A living sandbox of an earlier request."""
        while self._idle:
            try:
                worker = self._idle.pop()
            except IndexError:
                break  # another thread was faster
            if worker.alive:
                return worker
            self._pool.discard(worker)
        return None

    def _start(self) -> Worker:
        worker = self._pool.take()
        for file in (CHILD, self._harness):
            loaded = worker.ask({"op": "run", "code": file.read_text()}, seconds=self._seconds)
            if not loaded.alive or loaded.failed or loaded.stop:
                self._pool.discard(worker)
                why = loaded.stop or loaded.text[-300:]
                raise InfrastructureError(f"the sandbox of {self._harness.name} did not start: {why}")
        return worker
