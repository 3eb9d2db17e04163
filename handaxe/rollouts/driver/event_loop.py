"""Event loop in a separate thread."""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from handaxe.tools.deadline import GRACE

__all__ = ["LoopThread"]


class LoopThread:
    """Runs coroutines for threads without blocking them.

    Posted functions are processed in batches, so a thousand answers wake the loop once. The thread is a daemon and can
    be abandoned when a coroutine blocks it.
    """

    def __init__(self, *, name: str = "handaxe-loop"):
        self._loop = asyncio.new_event_loop()
        self._mail: deque[Callable[[], None]] = deque()
        self._told = False
        self._tasks: set[asyncio.Task] = set()
        self._pinged: float | None = None
        self._ending = False
        self.thread = threading.Thread(target=self._serve, daemon=True, name=name)
        self.thread.start()

    def post(self, function: Callable[[], None]) -> None:
        """Call a function on the loop, soon and in order; thread-safe. The function must not raise."""
        self._mail.append(function)
        if not self._told:
            self._told = True
            self._loop.call_soon_threadsafe(self._open)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task:
        """Run a coroutine that never raises; call on the loop only."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def blocked(self) -> float:
        """Seconds since the loop last responded; each call sends a new ping."""
        now, pinged = time.monotonic(), self._pinged
        if pinged is None:
            self._pinged = pinged = now
            self.post(self._pong)
        return now - pinged

    def close(self) -> bool:
        """Cancel all tasks, allow GRACE seconds for cleanup, and end the thread; False if the thread does not end."""
        self.leave()
        self.thread.join(3 * GRACE)
        return not self.thread.is_alive()

    def leave(self) -> None:
        """Close without waiting: a blocked loop ends once it is free again."""
        self.post(lambda: self._end(self._loop.create_task(self._stop())))

    def _open(self) -> None:
        self._told = False
        while self._mail:
            self._mail.popleft()()

    def _pong(self) -> None:
        self._pinged = None

    def _end(self, stopping: asyncio.Task) -> None:
        self._ending = True
        stopping.add_done_callback(lambda _: self._loop.stop())

    async def _stop(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=2 * GRACE)
        await self._loop.shutdown_asyncgens()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._ending:
            # A task started by a tool may raise SystemExit, or stop the loop.
            with contextlib.suppress(BaseException):
                self._loop.run_forever()
        self._loop.close()
