"""Thread pool whose hanging jobs can be abandoned, and a concurrency limit."""

import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

__all__ = ["Job", "Limit", "ThreadPool"]

OnDone = Callable[[Any, BaseException | None], object]

IDLE = 10.0
"""Seconds after which an idle thread ends."""


class Job:
    """Piece of work in a ThreadPool. `since` is the start time (time.monotonic), None before."""

    __slots__ = ("given_up", "over", "since", "tell", "work")

    def __init__(self, work: Callable[[], Any], tell: OnDone):
        self.work, self.tell = work, tell
        self.since: float | None = None
        self.given_up = self.over = False


class ThreadPool:
    """Daemon threads that run jobs in order, at most `count` at a time.

    Python cannot kill a thread. The thread of an abandoned job runs on in the background with its resources, until the
    job returns or the process ends; a new thread replaces it at once, so that hanging jobs never exhaust the pool.

    Args:
        count: most running threads, abandoned ones not counted; None for one thread per job.
        name: of the threads.
    """

    def __init__(self, count: int | None = None, *, name: str = "handaxe-tool"):
        self.count, self.name = count, name
        self.alive = 0
        """Threads that run jobs or wait for jobs."""
        self.abandoned = 0
        """Threads of abandoned jobs that have not returned yet."""
        self._wanted = 0  # jobs waiting or running
        self._closed = False
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], Any], tell: OnDone) -> Job:
        """Run `work()` in a thread. `tell(value, None)` or `tell(None, error)` is called in that thread, unless the job
        was abandoned."""
        job = Job(work, tell)
        with self._lock:
            self._wanted += 1
            self._jobs.put(job)
            self._staff()
        return job

    def give_up(self, job: Job) -> bool:
        """Abandon a job and its thread; False if the job is finished and `tell` was or will be called."""
        with self._lock:
            if job.over or job.given_up:
                return not job.over
            job.given_up = True
            if job.since is not None:
                self._wanted -= 1
                self.alive -= 1
                self.abandoned += 1
                self._staff()
            return True

    def close(self) -> None:
        """End every thread after its job. Waiting jobs are not started."""
        with self._lock:
            self._closed = True
            for _ in range(self.alive):
                self._jobs.put(None)

    def _staff(self) -> None:
        if not self._closed and self._wanted > self.alive and (self.count is None or self.alive < self.count):
            self.alive += 1
            threading.Thread(target=self._serve, daemon=True, name=self.name).start()

    def _serve(self) -> None:
        while self._next():
            pass

    def _next(self) -> bool:
        """Wait for a job and run it; returns whether the thread continues."""
        try:
            job = self._jobs.get(timeout=IDLE)
        except Empty:
            job = None
        with self._lock:
            if self._closed or (job is None and self._jobs.empty()):
                self.alive -= 1
                return False
            if job is None:
                return True
            if job.given_up:
                self._wanted -= 1
                return True
            job.since = time.monotonic()
        value, error = None, None
        try:
            value = job.work()
        except BaseException as caught:  # the thread must survive any error of a job
            error = caught
        with self._lock:
            if job.given_up:  # a new thread has replaced this one
                self.abandoned -= 1
                return False
            job.over = True
            self._wanted -= 1
        job.tell(value, error)
        return True


class Limit:
    """Concurrency limit: at most `count` holders at a time; the others wait in order, and waiting needs no thread.

    An abandoned call counts as finished; otherwise hanging calls would block all others.
    """

    def __init__(self, count: int):
        self.count = count
        self._free = count
        self._waiting: deque[Callable[[], bool]] = deque()
        self._lock = threading.Lock()

    def enter(self, admit: Callable[[], bool]) -> bool:
        """Return True if the caller enters now. Else `admit()` is called in the thread of a leaving call when the
        caller's turn has come; it returns False if the caller no longer waits, and the next waiting caller is admitted.
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            self._waiting.append(admit)
            return False

    def leave(self) -> None:
        """Leave, and admit the next waiting caller."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                admit = self._waiting.popleft()
            if admit():
                return

    def __enter__(self) -> None:
        turn, gone = threading.Event(), threading.Lock()

        def admit() -> bool:
            turn.set()
            return gone.acquire(blocking=False)  # the first to acquire decides: the turn is taken or passed on

        if self.enter(admit):
            return
        try:
            turn.wait()
        except BaseException:  # Ctrl-C
            if not gone.acquire(blocking=False):
                self.leave()
            raise

    def __exit__(self, *error: object) -> None:
        self.leave()
