"""Does work that may hang without hanging with it, in a thread or on an event loop.

Why this, `threads` and `rollouts.driver.event_loop` are not anyio's `to_thread`, `fail_after` and
`start_blocking_portal` (anyio 4.16, tried side by side): its threads are no daemons, so one that hangs keeps the
program from ending; its `fail_after` waits for a coroutine that refuses to be cancelled, however long; a portal whose
loop is blocked can be neither noticed nor left.
"""

import asyncio
import contextvars
import queue
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from handaxe.tools.threads import Limit, ThreadPool

__all__ = ["DeadlineError", "GRACE", "Threads", "within", "within_async"]

GRACE = 0.25
"""Seconds that a cancelled coroutine has to clean up."""

_POOL = ThreadPool()

Work = Callable[[], Coroutine[Any, Any, Any]]


class DeadlineError(Exception):
    """The work took too long. Not a TimeoutError, so that it cannot be confused with one the work itself raises."""


def within(work: Callable[[], Any], *, seconds: float | None) -> Any:
    """Do `work` in another thread, which is used again, and give up on it after `seconds`.

    Python cannot kill a thread: work that hangs goes on in the background, with whatever it holds, until it returns
    or the process ends; its thread is a daemon, which does not keep the process alive. Its result is thrown away.

    Args:
        work: takes nothing; sees the caller's context variables.
        seconds: wall time, > 0; None waits for ever.

    Raises:
        DeadlineError: `seconds` have passed.
        BaseException: whatever `work` raised.
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


def within_async(work: Work, *, seconds: float | None) -> Any:
    """Run a coroutine in an event loop and thread of its own, so that it works inside a running loop too.

    After `seconds` it is cancelled and has GRACE seconds to clean up; one that refuses, or blocks its loop, is left
    behind as in `within`. Raises as `within` does.
    """
    limit = None if seconds is None else seconds + 2 * GRACE
    return within(lambda: asyncio.run(_bounded(work, seconds)), seconds=limit)


class Threads:
    """What an environment's `astep` has its slow work done by; made for one step, used on its event loop.

    Args:
        pool: for what blocks its thread.
        post: has a function called on the event loop, from any thread.
        longest: seconds for work that names no limit of its own.
    """

    __slots__ = ("_longest", "_pool", "_post", "since")

    def __init__(self, pool: ThreadPool, post: Callable[[Callable[[], None]], object], *, longest: float):
        self._pool = pool
        self._post = post
        self._longest = longest
        self.since: float | None = time.monotonic()
        """Since when the step does something that nothing here bounds; None while it waits for `run` or `wait`."""

    async def run(self, work: Callable[[], Any], *, seconds: float | None = None, limit: Limit | None = None) -> Any:
        """Do `work()` in a thread of the pool, once `limit` lets it in.

        Args:
            work: may block; sees the caller's context variables.
            seconds: from when a thread takes it up; waiting for one, or for `limit`, does not count.
            limit: at most so many at once. Waiting for it holds no thread.

        Raises:
            DeadlineError: `seconds` have passed; the thread is left behind as in `within`.
            BaseException: whatever `work` raised.
        """
        return await self._once_in(
            lambda: self._in_a_thread(work, self._longest if seconds is None else seconds), limit
        )

    async def wait(self, work: Work, *, seconds: float | None = None, limit: Limit | None = None) -> Any:
        """Run the coroutine `work()` on the event loop, once `limit` lets it in. As `run`; after `seconds` it is
        cancelled and has GRACE seconds to clean up."""
        return await self._once_in(lambda: _bounded(work, self._longest if seconds is None else seconds), limit)

    async def _once_in(self, work: Work, limit: Limit | None) -> Any:
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
            if turn.done():  # it was cancelled while the message was on its way
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
                if turn.done() and not turn.cancelled():  # cancelled just after its turn had come
                    limit.leave()
                raise

    async def _in_a_thread(self, work: Callable[[], Any], seconds: float) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        timer: asyncio.TimerHandle

        def settle(value: Any, error: BaseException | None) -> None:
            if not answer.done():
                answer.set_result((value, error))

        def look() -> None:
            nonlocal timer
            left = seconds if job.since is None else job.since + seconds - time.monotonic()
            if left > 0:
                timer = loop.call_later(left, look)
            elif self._pool.give_up(job):
                settle(None, DeadlineError())

        bound = partial(contextvars.copy_context().run, work)
        job = self._pool.submit(bound, lambda value, error: self._post(partial(settle, value, error)))
        timer = loop.call_later(seconds, look)
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
    """Run a coroutine for at most `seconds`, also when who waits for it is cancelled."""

    async def guarded() -> tuple[Any, BaseException | None]:
        try:
            return await work(), None
        except BaseException as error:  # a SystemExit that left its task would end the event loop
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
