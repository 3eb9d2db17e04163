"""Runs of programs on the tables of a competition, in a sandbox with scikit-learn, in a forked process each."""

from __future__ import annotations

import base64
import functools
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from handaxe.tools.sandbox.forking_runner import ForkingRunner

__all__ = ["CodeResult", "CodeRunner", "code_runner"]

HARNESS = Path(__file__).with_name("code_harness.py")
SECONDS = 120.0
"""Seconds for a request, which may import scikit-learn on a busy machine; a program has limits of its own."""
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
        self._sandboxes = ForkingRunner(("scikit-learn",), HARNESS, "answer_program", memory=2**30, seconds=SECONDS)
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
        answer = self._sandboxes.ask(request).value
        if isinstance(answer, dict) and answer.get("missing"):
            answer = self._sandboxes.ask({**request, "tables": [_packed(one) for one in self._tables[key]]}).value
        return _checked(answer if isinstance(answer, dict) else {})


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
