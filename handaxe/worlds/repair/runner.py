"""Runs of a package's tests in sandboxes with the imported package, in a forked process each."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InfrastructureError
from handaxe.tools.sandbox.forking_runner import ForkingRunner

__all__ = ["ChangedSource", "Result", "Runner", "runner"]

HARNESS = Path(__file__).with_name("harness.py")
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
        self._sandboxes = ForkingRunner(distributions, HARNESS, "answer_request")
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
        answer = self._sandboxes.ask(request)
        if answer.problem:
            raise InfrastructureError(f"the sandbox of the tests {request['tests']} failed: {answer.problem}")
        return answer.value


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
