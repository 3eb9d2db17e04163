"""Python session in an embedded sandbox, one for each rollout."""

from __future__ import annotations

import atexit
import functools
import os
import threading
from datetime import datetime
from typing import Annotated, Any

from pydantic_monty import (
    CollectString,
    Monty,
    MontyClassProxy,
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    OSPolicy,
    ResourceLimits,
)

from handaxe.core.errors import InfrastructureError, InputError, Retry
from handaxe.tools.decorator import Tool, tool
from handaxe.tools.definition import ToolContext
from handaxe.tools.sandbox.reply import reply_text

__all__ = ["python"]

MAX_CODE = 50_000
"""Characters of the longest program."""
MAX_PRINTED = 16 * 2**20
"""Bytes of the longest stored output; printing more is a limit hit, reported to the worker at the end."""
EPOCH = datetime(2026, 1, 1)
"""Fixed time of the sandbox clock, so that a program prints the same in every run."""
ROOMY = 64
"""A state smaller than the memory limit divided by this is assumed to fit when it is loaded again."""
GONE = "no longer exists"
"""Sandbox message about an object that nothing in the session references."""
UNSHOWN = "the value of the last expression cannot be shown"
REVERTED = "The session is as it was before this call."
LOCK = threading.Lock()
DIRECT = ToolContext(call_id="", seed=0)
"""Context of a call as a plain function."""


def python(
    *,
    seconds: float = 5.0,
    memory: int = 64 * 2**20,
    recursion: int = 200,
    max_chars: int = 4_000,
    cost: float = 0.0,
    prefix: str = "",
) -> Tool:
    """Make a Python session with separate state; pass `python` or `lambda: python(seconds=1)` to an environment.

    Between calls the session is a few kilobytes of bytes and occupies no process, so thousands may be live: a call
    borrows a sandboxed worker, loads the state, runs the code, and stores the state. The state includes the text of
    every program, for tracebacks, so it grows with each call. A call that hits the limit on time, memory or output (16
    MiB) leaves the state unchanged. There are no files, no network, no environment variables and no third-party
    modules; sleeping takes no time, the clock stands still, and `random` is seeded by the first call's seed. The
    interpreter supports a subset of Python (no `del`, for example), and reports unsupported syntax.

    The policy reads the printed output, then the `repr` of the last expression unless None; an error is status "retry"
    and ends with the traceback.

    Args:
        seconds: of execution a call may take, > 0; a `__repr__` of the value may take as long again.
        memory: bytes of the session, >= 1 MiB.
        recursion: deepest call stack, 1 to 1000.
        max_chars: most characters of a reply.
        cost: of a call.
        prefix: before the tool's name, to tell it from another tool of that name.

    Returns:
        The tool `python(code)`. Its `owner` is the session, with `snapshot()`, `restore(state)` and `close()`.

    Raises:
        InputError: a limit out of range. A worker that dies is an `infra_error` of the call.

    Example:
        run = python(); run("x = 40"); run("print('hi')\\nx + 2") is "hi\\n42".
    """
    if not 0 < seconds < 10**6 or not 2**20 <= memory < 2**60 or not 1 <= recursion <= 1000:
        raise InputError(
            f"seconds must be above 0 (and finite), memory at least {2**20} bytes and recursion from 1 to 1000; "
            f"they are {seconds}, {memory} and {recursion}"
        )
    limits: ResourceLimits = {
        "max_feed_duration_secs": seconds,
        "max_memory": memory,
        "max_recursion_depth": recursion,
    }
    return _Session(limits).python.but(max_chars=max_chars, cost=cost, prefix=prefix)


class _Session:
    """State between calls: bytes, or None before the first call."""

    def __init__(self, limits: ResourceLimits):
        self.limits = limits
        self.state: bytes | None = None
        self.closed = False

    @tool(timeout=None)
    def python(self, code: Annotated[str, "the program"], context: ToolContext = DIRECT) -> str:
        """Run Python and read what it prints and the value of its last expression. Names stay for the next call."""
        if self.closed:
            raise InfrastructureError("the Python session is closed")
        if len(code) > MAX_CODE:
            raise Retry(f"the program has {len(code)} characters, the limit is {MAX_CODE}")
        policy: OSPolicy = {"datetime": EPOCH, "sleep": "zero", "random_start": {"seed": context.seed}}
        try:
            with LOCK:
                pool = _pool(os.getpid())
            text, failed, state = self._execute(pool, policy, code)
            if len(state) > (self.limits.get("max_memory") or 0) // ROOMY:
                # Loading a state may need more memory than dumping it; stored, it would fail every later call.
                with pool.checkout(limits=self.limits, os_policy=policy) as session:
                    session.load_session(state)
                    _dump(session)
            self.state = state
        except _LimitError as limit:
            raise Retry(f"{limit}\n{REVERTED}") from None
        except MontyRuntimeError as broken:
            # A state that fails to load needs more memory than the limit.
            raise Retry(f"{broken}\n{REVERTED}") from None
        except MontyError as broken:
            raise InfrastructureError(f"the Python sandbox died: {broken}") from broken
        if failed:
            raise Retry(text)
        return text

    def _execute(self, pool: Monty, policy: OSPolicy, code: str) -> tuple[str, bool, bytes]:
        """Run the code: returns the result of `_feed` and the new state.

        Code that kills its worker does so every time: it is run once more, to tell it from a worker killed from
        outside.
        """
        for last in (False, True):
            with pool.checkout(limits=self.limits, os_policy=policy) as session:
                if self.state is not None:
                    session.load_session(self.state)
                try:
                    text, failed = _feed(session, code)
                    return text, failed, _dump(session)
                except MontyCrashedError as broken:
                    if broken.timed_out:
                        raise _LimitError("TimeoutError: the time is used up") from None
                    if last:
                        raise _LimitError("ProcessError: the code ended the interpreter") from None
        raise AssertionError("the last try returns or raises")

    def snapshot(self) -> bytes | None:
        """Return the state, which is immutable."""
        return self.state

    def restore(self, state: bytes | None) -> None:
        """Restore a snapshot of this or another session."""
        self.state = state

    def close(self) -> None:
        """Drop the state; later calls fail."""
        self.state, self.closed = None, True


class _LimitError(Exception):
    """The code exceeded time or memory, or its state cannot be stored; the session must not be used again."""


def _feed(session: MontySession, code: str) -> tuple[str, bool]:
    """Run the code: returns the printed output with value or traceback, and whether it failed."""
    printed = CollectString(MAX_PRINTED)
    try:
        value = session.feed_run(code, print_callback=printed)
        shown = _show(session, value, printed)
    except (MontySyntaxError, MontyRuntimeError) as error:
        if isinstance(error.exception(), MemoryError | TimeoutError):
            raise _LimitError(reply_text(printed.output, error.display())) from None
        return reply_text(printed.output, error.display()), True
    except MontyConversionError as error:
        return reply_text(printed.output, f"{UNSHOWN}: {error}"), True
    except MontyError:
        raise
    except Exception as error:  # raised on the host while converting the value, such as a set of unhashable items
        return reply_text(printed.output, f"{UNSHOWN}: {type(error).__name__}: {error}"), True
    return reply_text(printed.output, shown), False


def _dump(session: MontySession) -> bytes:
    """Dump the state of a session. Raises _LimitError if dumping exceeds the memory limit."""
    try:
        return session.dump()
    except MontyCrashedError:
        raise
    except MontyError as error:  # for example, dumping an almost full session can need more than the limit
        raise _LimitError(f"the session cannot be kept: {error}") from None


def _show(session: MontySession, value: Any, printed: CollectString) -> str:
    if value is None:
        return ""
    text = repr(value)
    if f"{MontyClassProxy.__name__}(" not in text:
        return text
    # Only the sandbox can call an object's __repr__; `_` is the last value, as in any Python session.
    try:
        return str(session.feed_run("repr(_)", inputs={"_": value}, print_callback=printed))
    except MontyRuntimeError as error:
        if GONE not in str(error):
            raise
        return f"<{value.name} object>" if isinstance(value, MontyClassProxy) else text


@functools.cache
def _pool(process: int) -> Monty:
    """Make the workers of a process, keyed by process id for forks. The caller holds LOCK."""
    del process
    pool = Monty(checkout_timeout=60.0).__enter__()
    atexit.register(pool.__exit__, None, None, None)
    return pool
