"""CPython session in a bubblewrap sandbox, one for each rollout.

Kept: users run programs that need numpy or other packages; the embedded interpreter has none.
"""

from __future__ import annotations

import base64
import os
import stat
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, NoReturn

from handaxe.core.errors import InfrastructureError, InputError, Retry
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import ToolContext
from handaxe.tools.sandbox.check_sandbox import check_sandbox
from handaxe.tools.sandbox.command import SandboxSpec
from handaxe.tools.sandbox.limits import Limits
from handaxe.tools.sandbox.mounts import find_mounts
from handaxe.tools.sandbox.pool import Pool, shared_pool
from handaxe.tools.sandbox.process import SessionResult, Worker
from handaxe.tools.sandbox.reply import reply_text

__all__ = ["PythonSession", "cpython"]

MAX_CODE = 50_000
"""Characters of the longest program."""
MAX_FILE = 2**20
"""Bytes of the largest file that `read` returns by default."""
KEPT = "The session goes on; names set so far are kept."
EMPTY = "The session starts again: names are gone, and files are as at the beginning."
SETUP = 30.0
"""Seconds to write the given files."""
DIRECT = ToolContext(call_id="", seed=0)
"""Context of a call as a plain function."""
LIMITS = Limits()
PACKAGES = ("numpy", "sympy", "pandas")


def cpython(
    *,
    limits: Limits = LIMITS,
    files: Mapping[str, str | bytes] | None = None,
    outputs: Sequence[str] = (),
    packages: Sequence[str] = PACKAGES,
    preload: Sequence[str] = (),
    interpreter: str | os.PathLike[str] | None = None,
    warm: int = 2,
    live: int = 200,
    max_chars: int = 4_000,
    cost: float = 0.0,
    prefix: str = "",
    fallback: Callable[[], Tool] | None = None,
) -> Tool:
    """Make a CPython session in a new sandbox; pass `cpython` or `lambda: cpython(files=...)` to an environment.

    The code runs as the user nobody in a bubblewrap sandbox: no network, no other process, of this machine only the
    interpreter and the named packages, read-only, and a private folder that is deleted with the session. A session is a
    process from a pool of started workers; it begins with the first call, keeps names and files for the next, is
    stopped between calls, and is destroyed by `close`. docs/sandboxes.md lists guarantees and their limits.
    `tools.sandbox.limits.Limits` has the limits on time, memory, disk, threads and output.

    The policy reads the printed output, then the `repr` of the last expression unless None. An error is status "retry"
    and ends with the traceback. At the limit of time or output the code is interrupted, status "retry", and the names
    stay. Code that ignores the interrupt or ends its process (by `os._exit`, a crash, the limit on processor time, too
    many files) is killed: status "retry", and the next call finds a new, empty session with the given files. `random`
    is seeded by the first call's seed, and numpy's generator, too, if numpy is preloaded.

    Args:
        limits: of a session and a call.
        files: initial content of the folder, by relative path; text is written as UTF-8.
        outputs: paths of files whose text is in `report()`.
        packages: distributions that can be imported, with their requirements.
        preload: modules to import before a session is used, such as "numpy"; each saves its import time in the first
            call that uses it and costs its memory in every session.
        interpreter: path of another CPython, with its own packages; None for this interpreter.
        warm: sessions of this kind that this process starts in advance, >= 0.
        live: most sessions of this kind at once, >= 1; a further session is an `infra_error`.
        max_chars: most characters of a reply.
        cost: of a call.
        prefix: before the tool's name, to tell it from another tool of that name, such as that of `python`.
        fallback: makes the tool to use if bubblewrap is missing or cannot run (found by running it), such as
            `handaxe.tools.python.python`, the embedded interpreter, which needs no bubblewrap; a RuntimeWarning gives
            the reason. Files, outputs and packages are then missing. None raises InputError. Code never runs without
            sandbox.

    Returns:
        The tool `python(code)`. Its `owner` is a PythonSession.

    Raises:
        InputError: bubblewrap is missing or cannot run here, and there is no fallback; a package is not installed; a
            limit or path is out of range.

    Example:
        run = cpython(); run("import numpy as np\\nx = np.arange(4)"); run("int(x.sum())") is "6"; run.owner.close().
    """
    limits.check()
    if isinstance(packages, str) or isinstance(preload, str) or isinstance(outputs, str):
        raise InputError("packages, preload and outputs must be lists of names, such as ('numpy',)")
    for name in (*(files or ()), *outputs):
        _parts(name)
    contents = {name: text.encode() if isinstance(text, str) else bytes(text) for name, text in (files or {}).items()}
    if sum(map(len, contents.values())) > limits.disk // 2:
        raise InputError(f"the files fill more than half of the {limits.disk} bytes of the folder; raise limits.disk")
    chosen = None if interpreter is None else os.fspath(interpreter)
    try:
        check_sandbox(chosen)
    except InputError as error:
        if fallback is None:
            raise
        warnings.warn(f"{error}\nUsing the fallback {fallback!r}.", RuntimeWarning, stacklevel=2)
        return fallback().but(max_chars=max_chars, cost=cost, prefix=prefix)
    spec = SandboxSpec(find_mounts(chosen, tuple(packages)), limits, tuple(preload))
    pool = shared_pool(spec, warm=warm, live=live)
    return PythonSession(pool, contents, tuple(outputs)).python.but(max_chars=max_chars, cost=cost, prefix=prefix)


class PythonSession:
    """Session that owns the tool `python`. Made by `cpython`."""

    def __init__(self, pool: Pool, files: dict[str, bytes], outputs: tuple[str, ...]):
        self._pool = pool
        self._files = files
        self._outputs = outputs
        self._worker: Worker | None = None
        self._finalizer: weakref.finalize | None = None
        self._restarts = 0
        self._closed = False
        self._owner = os.getpid()

    @tool(timeout=None)
    def python(self, code: Annotated[str, "the program"], context: ToolContext = DIRECT) -> str:
        """Run Python and read what it prints and the value of its last expression. Names stay for the next call."""
        if len(code) > MAX_CODE:
            raise Retry(f"the program has {len(code)} characters, the limit is {MAX_CODE}")
        worker = self._get_worker(context.seed)
        limits = self._pool.spec.limits
        answer = worker.ask({"op": "run", "code": code}, seconds=limits.seconds)
        if not answer.alive:
            self._drop()
            self._restarts += 1
        if answer.stop:
            text = reply_text(answer.printed, answer.text if answer.failed else "")
            raise Retry(reply_text(text, f"{_why(answer, limits)}\n{KEPT if answer.alive else EMPTY}"))
        text = reply_text(answer.printed, answer.text)
        if answer.failed:
            raise Retry(text)
        return text

    def read(self, name: str, *, limit: int = MAX_FILE) -> bytes | None:
        """Read the present content of a file in the session's folder. No symbolic link is followed.

        Returns:
            None if there is no such regular file; before the first call, the given files count.

        Raises:
            InputError: the path is absolute, empty or has "..", or the file has more than `limit` bytes.
        """
        parts = _parts(name)
        if self._worker is None or self._worker.folder is None:
            return self._files.get(name)
        try:
            folder = os.dup(self._worker.folder)
            try:
                for part in parts[:-1]:
                    inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                    os.close(folder)
                    folder = inner
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                descriptor = os.open(parts[-1], flags, dir_fd=folder)
            finally:
                os.close(folder)
        except OSError:
            return None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return None
        with open(descriptor, "rb") as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise InputError(f"the file {name!r} has more than {limit} bytes")
        return content

    def report(self) -> Mapping[str, Any]:
        """Report `restarts`, the number of times the session was killed, and `files`, the text of each of `outputs`;
        None for a file that is missing, too large or not UTF-8.
        """
        return {"restarts": self._restarts, "files": {name: self._text(name) for name in self._outputs}}

    def snapshot(self) -> NoReturn:
        """Raise InputError: a running process cannot be copied."""
        raise InputError(
            "a CPython session is a process and cannot be copied, so its rollout cannot fork; a session of "
            "handaxe.tools.python can"
        )

    def restore(self, state: Any) -> NoReturn:
        """Raise InputError, as `snapshot`."""
        del state
        self.snapshot()

    def close(self) -> None:
        """Destroy the session; later calls fail."""
        self._closed = True
        self._drop()

    def _text(self, name: str) -> str | None:
        try:
            content = self.read(name)
            return None if content is None else content.decode()
        except (InputError, UnicodeDecodeError):
            return None

    def _get_worker(self, seed: int) -> Worker:
        """Return the session's process, started if there is none."""
        if self._closed:
            raise InfrastructureError("the Python session is closed")
        if self._owner != os.getpid():
            raise InfrastructureError("the Python session belongs to the parent of this forked process")
        if self._worker is not None:
            return self._worker
        worker = self._pool.take()
        self._worker = worker
        # A session that is not closed is destroyed by the garbage collector.
        self._finalizer = weakref.finalize(self, self._pool.discard, worker)
        files = {name: base64.b64encode(content).decode() for name, content in self._files.items()}
        setup = worker.ask({"op": "begin", "seed": seed, "files": files}, seconds=SETUP)
        if setup.stop:
            self._drop()
            raise InfrastructureError(f"the Python sandbox did not begin: {setup.stop} {setup.printed[-500:]}")
        return worker

    def _drop(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._worker, self._finalizer = None, None


def _parts(name: str) -> tuple[str, ...]:
    """Split a relative path without ".." into folders and name."""
    path = PurePosixPath(name) if isinstance(name, str) else PurePosixPath("/")
    bad = path.is_absolute() or not path.parts or ".." in path.parts or "\0" in str(path)
    if bad or str(path) != name or len(name) > 200:
        raise InputError(
            f"{name!r} is no path of a file in the session's folder: give a relative path such as 'data.csv'"
        )
    return path.parts


def _why(answer: SessionResult, limits: Limits) -> str:
    """Explain to the policy why a call was stopped."""
    if answer.stop == "time":
        return f"TimeoutError: the code ran for more than {limits.seconds:g} seconds"
    if answer.stop == "output":
        return f"OutputError: the code printed more than {limits.output} bytes"
    if answer.stop == "files":
        return "FileError: the code made too many files"
    if answer.stop == "protocol":
        return "ProcessError: the code wrote into the sandbox's own channel"
    signals = {132: "an illegal instruction", 134: "abort", 135: "a bus error", 139: "a segmentation fault"}
    if answer.status == 137:
        return f"ProcessError: Python was killed (the limit on processor time is {limits.cpu} seconds in all)"
    return f"ProcessError: Python ended itself ({signals.get(answer.status, f'exit status {answer.status}')})"
