"""In-process executor: threads for blocking calls, and an event loop for async environments."""

import time
from asyncio import Task
from collections.abc import Coroutine
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import AsyncEnv
from handaxe.core.requests import Act, Work
from handaxe.rollouts.driver.event_loop import LoopThread
from handaxe.rollouts.driver.executor import Answer
from handaxe.tools.deadline import GRACE, Threads
from handaxe.tools.thread_pool import Job, ThreadPool

__all__ = ["Workers"]

LOOK = 0.5
"""Seconds between two checks for timeouts."""


class _ThreadRequest:
    """Act or Work for a thread."""

    __slots__ = ("answers", "request", "ticket")

    def __init__(self, ticket: int, request: Act | Work, answers: "SimpleQueue[tuple[int, Answer]]"):
        self.ticket, self.request = ticket, request
        self.answers = answers

    def work(self) -> Any:
        request = self.request
        return request.call() if isinstance(request, Work) else request.env.step(request.turn, seed=request.seed)

    def tell(self, value: Any, error: BaseException | None) -> None:
        self.answers.put((self.ticket, Answer(value, error)))


@dataclass(slots=True)
class _Awaited:
    """`astep` on the loop."""

    threads: Threads
    task: Task | None = None
    forgotten: bool = False

    def drop(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Workers:
    """In-process executor: a pool of threads, and one event loop for environments with `astep`.

    Blocking calls run in the pool, in the order of submission; all coroutines of a loop run concurrently. Timeouts are
    answered with an InfrastructureError: a coroutine is cancelled, a thread abandoned and replaced. If a coroutine
    blocks the loop itself, all requests on it are answered this way.

    Args:
        count: threads, >= 1.
        seconds: timeout of one `step` or Work in a thread, and of an `astep` without its waiting for tools, which
            have separate timeouts; > 0.
        stall: seconds until a loop without response is abandoned; > 0.

    Raises:
        InputError: an argument out of range.

    Example:
        Driver(engine, workers=Workers(16, seconds=120.0)) gives up on an environment after two minutes, not ten.

    Idea: Python cannot kill a thread, so a hanging thread is counted, replaced and no longer waited for.
    """

    def __init__(self, count: int = 8, *, seconds: float = 600.0, stall: float = 30.0):
        if count < 1 or not seconds > 0 or not stall > 0:
            raise InputError(f"count is {count}, seconds {seconds} and stall {stall}; give a thread or more, and time")
        self.seconds, self.stall = seconds, stall
        self._pool = ThreadPool(count, name="handaxe-worker")
        self._loop: LoopThread | None = None
        self._lost: list[LoopThread] = []
        self._answers: SimpleQueue[tuple[int, Answer]] = SimpleQueue()
        self._in_flight: dict[int, Job | _Awaited] = {}
        self._kinds: dict[type, bool] = {}
        self._looked = time.monotonic()

    @property
    def abandoned(self) -> int:
        """Number of abandoned threads that are still running."""
        return self._pool.abandoned + sum(loop.thread.is_alive() for loop in self._lost)

    def __len__(self) -> int:
        return len(self._in_flight)

    def submit(self, ticket: int, request: Act | Work) -> None:
        """Start a request, or queue it for a thread."""
        if isinstance(request, Act) and self._asynchronous(request.env):
            self._await(ticket, request)
        else:
            one = _ThreadRequest(ticket, request, self._answers)
            self._in_flight[ticket] = self._pool.submit(one.work, one.tell)

    def ready(self, wait: float | None) -> list[tuple[int, Answer]]:
        """Return new answers; waits up to `wait` seconds for the first, None: indefinitely."""
        end = None if wait is None else time.monotonic() + wait
        out: list[tuple[int, Answer]] = []
        while not out and self._in_flight:
            if time.monotonic() - self._looked > LOOK:
                self._look()
            left = LOOK if end is None else min(LOOK, max(0.0, end - time.monotonic()))
            try:
                answer = self._answers.get(timeout=left) if left else self._answers.get_nowait()
                while True:
                    if self._in_flight.pop(answer[0], None) is not None:
                        out.append(answer)
                    answer = self._answers.get_nowait()
            except Empty:
                if end is not None and not out and time.monotonic() >= end:
                    break
        return out

    def forget(self, ticket: int) -> None:
        """Cancel a coroutine, or abandon a thread, and drop the answer."""
        entry = self._in_flight.pop(ticket, None)
        if isinstance(entry, Job):
            self._pool.give_up(entry)
        elif entry is not None and self._loop is not None:
            entry.forgotten = True
            self._loop.post(entry.drop)

    def close(self) -> None:
        """Drop all requests; coroutines are cancelled, and they and threads have GRACE seconds to finish."""
        jobs = [entry for entry in self._in_flight.values() if isinstance(entry, Job)]
        self._in_flight.clear()
        self._pool.close()
        if self._loop is not None and not self._loop.close():
            self._lost.append(self._loop)
        self._loop = None
        end = time.monotonic() + GRACE
        while self._pool.alive and time.monotonic() < end:
            time.sleep(0.001)
        for job in jobs:
            self._pool.give_up(job)

    def _put(self, ticket: int, value: Any, error: BaseException | None) -> None:
        self._answers.put((ticket, Answer(value, error)))

    def _asynchronous(self, env: Any) -> bool:
        kind = type(env)
        if kind not in self._kinds:
            self._kinds[kind] = isinstance(env, AsyncEnv)
        return self._kinds[kind]

    def _await(self, ticket: int, request: Act) -> None:
        if self._loop is None:
            self._loop = LoopThread()
        loop = self._loop
        waiting = self._in_flight[ticket] = _Awaited(Threads(self._pool, loop.post, longest=self.seconds))

        def begin() -> None:
            if not waiting.forgotten:
                waiting.task = loop.start(self._astep(ticket, request, waiting.threads))

        loop.post(begin)

    def _astep(self, ticket: int, request: Act, threads: Threads) -> Coroutine[Any, Any, None]:
        async def answer() -> None:
            try:
                # `isinstance(env, AsyncEnv)` was checked before.
                value = await request.env.astep(request.turn, seed=request.seed, threads=threads)  # type: ignore
            except BaseException as error:  # a SystemExit would end the loop
                self._put(ticket, None, error)
            else:
                self._put(ticket, value, None)

        return answer()

    def _look(self) -> None:
        """Answer requests that timed out."""
        self._looked = now = time.monotonic()
        for ticket, entry in list(self._in_flight.items()):
            since = entry.since if isinstance(entry, Job) else entry.threads.since
            if since is not None and now - since > self.seconds:
                self._fail(ticket, f"the environment gave no answer within {self.seconds:g} seconds")
        awaited = [ticket for ticket, entry in self._in_flight.items() if isinstance(entry, _Awaited)]
        if self._loop is not None and awaited and self._loop.blocked() > self.stall:
            for ticket in awaited:
                self._fail(ticket, f"an async tool blocked the event loop for more than {self.stall:g} seconds")
            self._loop.leave()
            self._lost.append(self._loop)
            self._loop = None

    def _fail(self, ticket: int, reason: str) -> None:
        entry = self._in_flight[ticket]
        # First, since a cancelled request also answers, and only the first answer is delivered.
        self._answers.put((ticket, Answer(None, InfrastructureError(reason))))
        self.forget(ticket)
        self._in_flight[ticket] = entry
