"""An event loop in a thread of its own, which other threads hand things to."""

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
    """Runs coroutines for threads that do not wait for them.

    What is posted is taken up in batches, so that a thousand answers wake the loop once. The thread is a daemon: a
    coroutine that blocks it can be left behind.
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
        """Have a function called on the loop, soon and in order; from any thread. It must not raise."""
        self._mail.append(function)
        if not self._told:
            self._told = True
            self._loop.call_soon_threadsafe(self._open)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task:
        """Run a coroutine that raises nothing; on the loop only."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def blocked(self) -> float:
        """Seconds for which the loop has not answered; each call asks it to."""
        now, pinged = time.monotonic(), self._pinged
        if pinged is None:
            self._pinged = pinged = now
            self.post(self._pong)
        return now - pinged

    def close(self) -> bool:
        """Cancel what runs, give it GRACE seconds to clean up, and end the thread; False if it does not end."""
        self.leave()
        self.thread.join(3 * GRACE)
        return not self.thread.is_alive()

    def leave(self) -> None:
        """As `close`, without waiting: a loop that is blocked ends when it is free again."""
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
            # A task that a tool started on its own may raise SystemExit, or stop the loop.
            with contextlib.suppress(BaseException):
                self._loop.run_forever()
        self._loop.close()
