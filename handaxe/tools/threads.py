"""Threads that are used again, given up when they hang, and a gate that lets only so many in."""

import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

__all__ = ["Job", "Limit", "ThreadPool"]

Tell = Callable[[Any, BaseException | None], object]

IDLE = 10.0
"""Seconds after which a thread without work ends."""


class Job:
    """One piece of work in a ThreadPool. `since` is when a thread took it up (time.monotonic), None before."""

    __slots__ = ("given_up", "over", "since", "tell", "work")

    def __init__(self, work: Callable[[], Any], tell: Tell):
        self.work, self.tell = work, tell
        self.since: float | None = None
        self.given_up = self.over = False


class ThreadPool:
    """Daemon threads that take up jobs in order, at most `count` at a time.

    Python cannot kill a thread. One whose job is given up goes on in the background with whatever it holds, until the
    job returns or the process ends; another takes its place at once, so that jobs which hang never use the pool up.

    Args:
        count: most threads at work, those given up not counted; None: as many as there are jobs.
        name: of the threads.
    """

    def __init__(self, count: int | None = None, *, name: str = "handaxe-tool"):
        self.count, self.name = count, name
        self.alive = 0
        """Threads that work or wait for work."""
        self.abandoned = 0
        """Threads whose job was given up and has not returned yet."""
        self._wanted = 0  # jobs that wait or run
        self._closed = False
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], Any], tell: Tell) -> Job:
        """Have `work()` done. `tell(value, None)` or `tell(None, error)` is called in the thread that did it, unless
        the job was given up."""
        job = Job(work, tell)
        with self._lock:
            self._wanted += 1
            self._jobs.put(job)
            self._staff()
        return job

    def give_up(self, job: Job) -> bool:
        """Forget a job, and the thread it runs in; False when it is over and `tell` was or will be called."""
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
        """Let every thread end when its job does. What waits is not begun."""
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
        """Wait for a job and do it; whether the thread goes on."""
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
        except BaseException as caught:  # the thread must live on, whatever its job dies of
            error = caught
        with self._lock:
            if job.given_up:  # another thread has this one's place
                self.abandoned -= 1
                return False
            job.over = True
            self._wanted -= 1
        job.tell(value, error)
        return True


class Limit:
    """Lets at most `count` in at once; the others wait in order, and waiting needs no thread.

    A call that was given up counts as having left, or one that hangs would shut all others out.
    """

    def __init__(self, count: int):
        self.count = count
        self._free = count
        self._waiting: deque[Callable[[], bool]] = deque()
        self._lock = threading.Lock()

    def enter(self, admit: Callable[[], bool]) -> bool:
        """True: the caller is in. False: `admit()` is called when its turn has come, in the thread of the call that
        left; it returns False when the caller no longer waits, and the next one's turn has come."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            self._waiting.append(admit)
            return False

    def leave(self) -> None:
        """Make room for the next one."""
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
            return gone.acquire(blocking=False)  # the first to have it decides: the turn is taken, or passed on

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
