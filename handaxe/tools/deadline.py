"""Work with a deadline, in a thread or on an event loop, abandoned if it hangs.

anyio 4.16 was tried side by side with this module, `thread_pool` and `rollouts.driver.event_loop`, and lacks three
properties: its threads are no daemons, so a hanging thread keeps the program alive; `fail_after` waits forever for a
coroutine that ignores cancellation; a blocked loop of `start_blocking_portal` can be neither detected nor abandoned.
"""

import asyncio
import contextvars
import queue
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from handaxe.tools.thread_pool import Limit, ThreadPool

__all__ = ["DeadlineError", "GRACE", "Threads", "run_async_with_deadline", "run_with_deadline"]

GRACE = 0.25
"""Seconds for the cleanup of a cancelled coroutine."""

_POOL = ThreadPool()

Work = Callable[[], Coroutine[Any, Any, Any]]


class DeadlineError(Exception):
    """Deadline passed. Distinct from TimeoutError, which the work itself may raise."""


def run_with_deadline(work: Callable[[], Any], *, seconds: float | None) -> Any:
    """Run `work` in a pooled thread, and abandon it after `seconds`.

    Python cannot kill a thread: hanging work continues in the background with its resources, until it returns or the
    process ends; the daemon thread does not keep the process alive. The late result is discarded.

    Args:
        work: without arguments; sees the caller's context variables.
        seconds: wall time, > 0; None for no limit.

    Raises:
        DeadlineError: `seconds` have passed.
        BaseException: raised by `work`.
    """
    done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    job = _POOL.submit(partial(contextvars.copy_context().run, work), lambda value, error: done.put((value, error)))
    try:
        value, error = done.get(timeout=seconds)
    except queue.Empty:
        if _POOL.give_up(job):
            raise DeadlineError from None
        value, error = done.get()
    except BaseException:  # Ctrl-C
        _POOL.give_up(job)
        raise
    if error is not None:
        raise error
    return value


def run_async_with_deadline(work: Work, *, seconds: float | None) -> Any:
    """Run a coroutine on a new event loop in a thread; works inside a running loop, too.

    After `seconds` the coroutine is cancelled and has GRACE seconds for cleanup; a coroutine that ignores cancellation
    or blocks its loop is abandoned as in `run_with_deadline`. Raises the same exceptions.
    """
    limit = None if seconds is None else seconds + 2 * GRACE
    return run_with_deadline(lambda: asyncio.run(_bounded(work, seconds)), seconds=limit)


class Threads:
    """Executor of slow work in an environment's `astep`; made for each step.

    Args:
        pool: for work that blocks its thread.
        post: schedules a function on the event loop, from any thread.
        longest: seconds for work without a limit.
    """

    __slots__ = ("_longest", "_pool", "_post", "since")

    def __init__(self, pool: ThreadPool, post: Callable[[Callable[[], None]], object], *, longest: float):
        self._pool = pool
        self._post = post
        self._longest = longest
        self.since: float | None = time.monotonic()
        """Start of the step's present unbounded activity; None while it awaits `run` or `wait`."""

    async def run(self, work: Callable[[], Any], *, seconds: float | None = None, limit: Limit | None = None) -> Any:
        """Run `work()` in a thread of the pool, once `limit` admits it.

        Args:
            work: may block; sees the caller's context variables.
            seconds: from its start in a thread; waiting for a thread or for `limit` does not count.
            limit: concurrency limit. Waiting for it occupies no thread.

        Raises:
            DeadlineError: `seconds` have passed; the thread is abandoned as in `run_with_deadline`.
            BaseException: raised by `work`.
        """
        return await self._run_admitted(
            lambda: self._run_in_thread(work, self._longest if seconds is None else seconds), limit
        )

    async def wait(self, work: Work, *, seconds: float | None = None, limit: Limit | None = None) -> Any:
        """Run the coroutine `work()` on the event loop, once `limit` admits it; otherwise as `run`. After `seconds` it
        is cancelled and has GRACE seconds for cleanup.
        """
        return await self._run_admitted(lambda: _bounded(work, self._longest if seconds is None else seconds), limit)

    async def _run_admitted(self, work: Work, limit: Limit | None) -> Any:
        self.since = None
        try:
            if limit is None:
                return await work()
            await self._enter(limit)
            try:
                return await work()
            finally:
                limit.leave()
        finally:
            self.since = time.monotonic()

    async def _enter(self, limit: Limit) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def let_in() -> None:
            if turn.done():  # cancelled while the message was in transit
                limit.leave()
            else:
                turn.set_result(None)

        def admit() -> bool:
            if turn.done():
                return False
            self._post(let_in)
            return True

        if not limit.enter(admit):
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # cancelled just after admission
                    limit.leave()
                raise

    async def _run_in_thread(self, work: Callable[[], Any], seconds: float) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        timer: asyncio.TimerHandle

        def settle(value: Any, error: BaseException | None) -> None:
            if not answer.done():
                answer.set_result((value, error))

        def check_deadline() -> None:
            nonlocal timer
            left = seconds if job.since is None else job.since + seconds - time.monotonic()
            if left > 0:
                timer = loop.call_later(left, check_deadline)
            elif self._pool.give_up(job):
                settle(None, DeadlineError())

        bound = partial(contextvars.copy_context().run, work)
        job = self._pool.submit(bound, lambda value, error: self._post(partial(settle, value, error)))
        timer = loop.call_later(seconds, check_deadline)
        try:
            value, error = await answer
        except asyncio.CancelledError:
            self._pool.give_up(job)
            raise
        finally:
            timer.cancel()
        if error is not None:
            raise error
        return value


async def _bounded(work: Work, seconds: float | None) -> Any:
    """Run a coroutine for at most `seconds`, even if its awaiter is cancelled."""

    async def guarded() -> tuple[Any, BaseException | None]:
        try:
            return await work(), None
        except BaseException as error:  # a SystemExit outside its task would end the event loop
            return None, error

    task = asyncio.ensure_future(guarded())
    late = False
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            late = True
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE)
    if late:
        raise DeadlineError
    value, error = task.result()
    if error is not None:
        raise error
    return value
