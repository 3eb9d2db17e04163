"""Threads for work on chat formats, with one reserved for short requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["FormatThreads"]

THREADS = 4
T = TypeVar("T")


class FormatThreads:
    """Runs calls in threads. Calls of long requests leave one thread free, so that short requests never wait for them.

    Args:
        long_bytes: body size of a long request.
    """

    def __init__(self, *, long_bytes: int = 16_000):
        self.long_bytes = long_bytes
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="handaxe-format")
        self._long = asyncio.Semaphore(THREADS - 1)

    async def run(self, size: int, call: Callable[..., T], *arguments: Any) -> T:
        """Run a call for a request with a body of `size` bytes."""
        loop = asyncio.get_running_loop()
        if size < self.long_bytes:
            return await loop.run_in_executor(self._threads, call, *arguments)
        await self._long.acquire()
        try:
            done = loop.run_in_executor(self._threads, call, *arguments)
        except BaseException:
            self._long.release()
            raise
        done.add_done_callback(lambda _: self._long.release())
        return await asyncio.shield(done)

    def close(self) -> None:
        """End the threads without waiting for running calls."""
        self._threads.shutdown(wait=False, cancel_futures=True)
