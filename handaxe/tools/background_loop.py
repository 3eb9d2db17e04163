"""Event loop in a daemon thread, for coroutines of synchronous callers."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any

from handaxe.core.errors import InputError

__all__ = ["BackgroundLoop", "shared_loop"]

END_TIMEOUT = 10.0
"""Seconds in which cancelled coroutines may clean up."""


class BackgroundLoop:
    """Runs coroutines for any thread, also for threads with a running event loop. A daemon thread: a program that ends
    by an error does not wait for answers.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str):
        self._loop = asyncio.new_event_loop()
        self._closed, self._lock = False, threading.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Start a coroutine. Raises CancelledError after `close`."""
        with self._lock:
            if self._closed:
                work.close()
                raise CancelledError
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine; an interrupted wait, as by Ctrl-C, cancels the coroutine.

        Raises:
            InputError: the caller is a coroutine of this loop, which cannot wait for itself.
            CancelledError: the loop was closed.
            BaseException: raised by the coroutine.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise InputError(
                "an async function waits for another one without `await`: await it, or make it synchronous"
            )
        try:
            future = self.submit(_guarded(work))
        except CancelledError:
            work.close()
            raise
        try:
            value, error = future.result()
        except BaseException:
            future.cancel()
            raise
        if error is not None:
            raise error
        return value

    def close(self, cleanup: Callable[[], Awaitable[object]] | None = None) -> None:
        """Cancel all coroutines, await `cleanup()` and end the thread. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(_stop(cleanup), self._loop).result(END_TIMEOUT)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(END_TIMEOUT)
        self._loop.close()


def shared_loop() -> BackgroundLoop:
    """The loop of this process for async rewards. Clients of a coroutine keep their connections between calls, because
    the loop is never closed."""
    return _loop_of(os.getpid())


@functools.cache
def _loop_of(process: int) -> BackgroundLoop:
    """The loop of a process, keyed by process id for forks."""
    del process
    return BackgroundLoop("handaxe-async")


async def _guarded(work: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    """Value and error of a coroutine; an error that would end the event loop is returned."""
    try:
        return await work, None
    except (KeyboardInterrupt, SystemExit) as error:
        return None, error


async def _stop(cleanup: Callable[[], Awaitable[object]] | None) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    if cleanup is not None:
        await cleanup()
