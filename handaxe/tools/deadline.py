"""Runs work that may hang without hanging with it."""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["DeadlineError", "GRACE", "within", "within_async"]

GRACE = 0.25
"""Seconds that a cancelled coroutine has to clean up."""


class DeadlineError(Exception):
    """The work took too long. Not a TimeoutError, so that it cannot be confused with one the work itself raises."""


def within(work: Callable[[], Any], *, seconds: float | None) -> Any:
    """Run `work` in a daemon thread of its own and give up on it after `seconds`.

    Python cannot kill a thread: work that hangs goes on in the background, with whatever it holds, until it returns
    or the process ends; being a daemon it does not keep the process alive. Its result is thrown away.

    Args:
        work: takes nothing; sees the caller's context variables.
        seconds: wall time, > 0; None waits for ever.

    Raises:
        DeadlineError: `seconds` have passed.
        BaseException: whatever `work` raised.
    """
    done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    context = contextvars.copy_context()

    def target() -> None:
        try:
            done.put((context.run(work), None))
        except BaseException as error:
            done.put((None, error))

    threading.Thread(target=target, daemon=True, name="handaxe-tool").start()
    try:
        value, error = done.get(timeout=seconds)
    except queue.Empty:
        raise DeadlineError from None
    if error is not None:
        raise error
    return value


def within_async(work: Callable[[], Coroutine[Any, Any, Any]], *, seconds: float | None) -> Any:
    """Run a coroutine in an event loop and thread of its own, so that it works inside a running loop too.

    After `seconds` it is cancelled and has GRACE seconds to clean up; one that refuses, or blocks its loop, is left
    behind as in `within`. Raises as `within` does.
    """

    async def bounded() -> Any:
        task = asyncio.ensure_future(work())
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE)
            raise DeadlineError
        return task.result()

    return within(lambda: asyncio.run(bounded()), seconds=None if seconds is None else seconds + 2 * GRACE)
