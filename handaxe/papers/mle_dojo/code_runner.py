"""Runs of programs on the tables of a competition, in a sandbox with scikit-learn, in a forked process each."""

from __future__ import annotations

import ast
import base64
import functools
import io
import json
import os
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InfrastructureError
from handaxe.tools.sandbox.command import SandboxSpec
from handaxe.tools.sandbox.limits import Limits
from handaxe.tools.sandbox.mounts import find_mounts
from handaxe.tools.sandbox.pool import shared_pool
from handaxe.tools.sandbox.process import Worker

__all__ = ["CodeResult", "CodeRunner", "code_runner"]

HARNESS = Path(__file__).with_name("code_harness.py")
LIMITS = Limits(cpu=10**6, memory=2**30, disk=2**20, threads=0)
SECONDS = 120.0
"""Seconds for a request, which may import scikit-learn on a busy machine; a program has limits of its own."""
WORKERS = max(1, os.cpu_count() or 1)
TRIES = 2
"""Sandboxes that a program may end before the end is its error."""
REMEMBERED = 20_000
"""Results that are kept: programs are repeated, and are seeded."""


class CodeResult(NamedTuple):
    """Result of a program. error: "" for none. predictions: the last submission, None without one."""

    error: str
    predictions: tuple[float, ...] | None


class CodeRunner:
    """Sandboxes with scikit-learn. Thread-safe; each runs one program at a time.

    Args:
        cpu: processor seconds of a program.

    Example:
        code_runner().run("submit([2.5])", "one row", tables) == CodeResult("", (2.5,))

    Idea: a process that has imported scikit-learn once runs each program in a fork, in milliseconds.
    """

    def __init__(self, *, cpu: float = 2.0):
        self._cpu = cpu
        self._pool = shared_pool(
            SandboxSpec(find_mounts(None, ("scikit-learn",)), LIMITS, forks=True), warm=0, live=4 * WORKERS
        )
        self._idle: deque[Worker] = deque()
        self._free = threading.Semaphore(WORKERS)
        self._tables: dict[str, Sequence[np.ndarray]] = {}
        self._remembered = functools.lru_cache(maxsize=REMEMBERED)(self._run)

    def run(self, code: str, key: str, tables: Sequence[np.ndarray]) -> CodeResult:
        """Run a program; equal programs on equal tables share a result.

        Args:
            code: the program, untrusted.
            key: names the tables.
            tables: training X and y, and X of the test rows; no test labels.

        Raises:
            InfrastructureError: the sandbox does not start. Two sandboxes that end are the program's error.
        """
        self._tables.setdefault(key, tables)
        return self._remembered(code, key)

    def _run(self, code: str, key: str) -> CodeResult:
        request: dict[str, Any] = {"code": code, "key": key, "seconds": self._cpu, "tables": None}
        with self._free:
            for _ in range(TRIES):
                worker = self._idle.pop() if self._idle else self._start()
                answer = self._ask(worker, request)
                if answer.get("missing"):
                    answer = self._ask(worker, {**request, "tables": [_packed(one) for one in self._tables[key]]})
                if worker.alive:
                    self._idle.append(worker)
                    break
        return _checked(answer)

    def _ask(self, worker: Worker, request: dict[str, Any]) -> dict[str, Any]:
        """Answer of the harness; an empty one if the sandbox ended."""
        answer = worker.ask({"op": "run", "code": f"answer_program({json.dumps(request)!r})"}, seconds=SECONDS)
        if not answer.alive or answer.stop or answer.failed:
            self._pool.discard(worker)
            return {}
        try:
            found = json.loads(ast.literal_eval(answer.text))
        except (SyntaxError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _start(self) -> Worker:
        worker = self._pool.take()
        loaded = worker.ask({"op": "run", "code": HARNESS.read_text()}, seconds=SECONDS)
        if not loaded.alive or loaded.failed or loaded.stop:
            self._pool.discard(worker)
            raise InfrastructureError(f"the sandbox of programs did not start: {loaded.stop or loaded.text[-300:]}")
        return worker


def code_runner() -> CodeRunner:
    """The runner of this process, made at the first call.

    Raises:
        InputError: bubblewrap or scikit-learn (extras [sandbox], [ml]) is missing.
    """
    return _runner(os.getpid())


@functools.cache
def _runner(process: int) -> CodeRunner:
    """Runner of a process: a fork must not use the sandboxes of the parent."""
    del process
    return CodeRunner()


def _packed(table: np.ndarray) -> str:
    buffer = io.BytesIO()
    np.save(buffer, table, allow_pickle=False)
    return base64.b64encode(buffer.getvalue()).decode()


def _checked(answer: dict[str, Any]) -> CodeResult:
    """Result of an answer; a program can write to the channel, so that its form is checked."""
    error = answer.get("error")
    found = answer.get("predictions")
    if not isinstance(error, str):
        return CodeResult("Crash: the process ended without a result", None)
    if not isinstance(found, list) or not all(isinstance(one, int | float) for one in found):
        return CodeResult(error, None)
    return CodeResult(error, tuple(float(one) for one in found))
