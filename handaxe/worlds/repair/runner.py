"""Runs of a package's tests in sandboxes with the imported package, in a forked process each."""

from __future__ import annotations

import ast
import functools
import json
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError
from handaxe.tools.sandbox.command import SandboxSpec
from handaxe.tools.sandbox.limits import Limits
from handaxe.tools.sandbox.mounts import find_mounts
from handaxe.tools.sandbox.pool import shared_pool
from handaxe.tools.sandbox.process import Worker

__all__ = ["ChangedSource", "Result", "Runner", "runner"]

HARNESS = Path(__file__).with_name("harness.py")
LIMITS = Limits(cpu=10**6, memory=2**29, disk=2**20, threads=0)
IMPORTS = 60.0
"""Seconds for a request, which may import a package and its tests on a busy machine; a run has limits of its own."""
WORKERS = max(1, os.cpu_count() or 1)
"""Sandboxes of a package; more runs wait."""
TRIES = 2
REMEMBERED = 20_000
"""Results of runs that are kept: rollouts of a task repeat runs, and the tests are deterministic."""


class ChangedSource(NamedTuple):
    """Edited statement of a module: source, first line, and qualified names of the edited functions."""

    source: str
    first: int
    names: tuple[str, ...]


class Result(NamedTuple):
    """Result of a run.

    failed: names of failed tests. error: exception of the first failure, "" without a failure; "Timeout", or "Crash"
    if the process died. line, code: line of the test and its text. at: last line of the edited file on the way to the
    exception, 0 if there is none. calls: of a traced run, for each test the first lines of the functions of the edited
    file in the order of their first call. seconds: processor time of each test that ran.
    """

    failed: tuple[str, ...]
    error: str
    line: int
    at: int
    code: str
    calls: tuple[list[int], ...]
    seconds: tuple[float, ...]


class Runner:
    """Sandboxes of a package. Thread-safe; each runs one request at a time.

    Args:
        distributions: mounted distributions, with their requirements.
    """

    def __init__(self, distributions: tuple[str, ...]):
        spec = SandboxSpec(find_mounts(None, distributions), LIMITS, forks=True)
        self._pool = shared_pool(spec, warm=0, live=4 * WORKERS)
        self._idle: deque[Worker] = deque()
        self._free = threading.Semaphore(WORKERS)
        self._remembered = functools.lru_cache(maxsize=REMEMBERED)(self.run_once)

    def collect(self, tests: str) -> list[str]:
        """Names of the tests of a module without fixtures."""
        return self._ask({"op": "collect", "tests": tests})

    def run(
        self,
        module: str,
        tests: str,
        names: Sequence[str],
        changes: Sequence[ChangedSource] = (),
        *,
        stop: bool = True,
        trace: bool = False,
    ) -> Result:
        """Run tests with edited functions of a module; equal runs of a process share a result.

        Args:
            module: edited module.
            tests: module of the tests.
            names: names of the tests, as by `collect`.
            changes: edited statements of the module.
            stop: stop at the first failure.
            trace: record the functions that are called.

        Raises:
            InfrastructureError: a sandbox died twice, or did not answer.
        """
        return self._remembered(module, tests, tuple(names), tuple(changes), stop, trace)

    def run_once(
        self,
        module: str,
        tests: str,
        names: tuple[str, ...],
        changes: tuple[ChangedSource, ...],
        stop: bool,
        trace: bool,
    ) -> Result:
        """As `run`, in a new process at every call."""
        request: dict[str, Any] = {"op": "run", "module": module, "tests": tests, "names": names}
        answer = self._ask({**request, "edits": changes, "stop": stop, "trace": trace})
        lists = {key: tuple(answer[key]) for key in ("failed", "calls", "seconds")}
        return Result(**{**answer, **lists})

    def _ask(self, request: dict[str, Any]) -> Any:
        code = f"answer_request({json.dumps(request)!r})"
        problem = ""
        for _ in range(TRIES):
            with self._worker() as worker:
                answer = worker.ask({"op": "run", "code": code}, seconds=IMPORTS)
                if answer.alive and not answer.stop and not answer.failed:
                    return json.loads(ast.literal_eval(answer.text))
                problem = answer.stop or answer.text[-300:]
                self._pool.discard(worker)
        raise InfrastructureError(f"the sandbox of the tests {request['tests']} failed {TRIES} times: {problem}")

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
        """A living sandbox of an earlier run."""
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
        loaded = worker.ask({"op": "run", "code": HARNESS.read_text()}, seconds=IMPORTS)
        if not loaded.alive or loaded.failed or loaded.stop:
            self._pool.discard(worker)
            raise InfrastructureError(f"the sandbox of the tests did not start: {loaded.stop or loaded.text[-300:]}")
        return worker


def runner(distributions: tuple[str, ...]) -> Runner:
    """The runner of a package in this process, made at the first call.

    Raises:
        InputError: a distribution is not installed.
    """
    lock, made = _runners(os.getpid())
    with lock:  # first calls of several threads share a runner, and so the limit on sandboxes
        if distributions not in made:
            made[distributions] = Runner(distributions)
        return made[distributions]


@functools.cache
def _runners(process: int) -> tuple[threading.Lock, dict[tuple[str, ...], Runner]]:
    """Runners of a process: a fork must not use the sandboxes of the parent."""
    del process
    return threading.Lock(), {}
