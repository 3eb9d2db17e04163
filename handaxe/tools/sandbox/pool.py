"""Keeps workers started ahead, each of which serves one session and is then destroyed."""

from __future__ import annotations

import atexit
import functools
import os
import threading
import time
from collections import deque
from contextlib import suppress

from handaxe.core.errors import HandaxeError, InfrastructureError, InputError
from handaxe.tools.sandbox.command import Spec
from handaxe.tools.sandbox.process import Worker
from handaxe.tools.sandbox.start import SETUP, greet, launch

__all__ = ["Pool", "pool_of"]

START = 60.0
"""Seconds that a worker has to start; many start at once on a busy machine."""
TRIES = 2
"""Workers beyond the warm ones that may die before they are ready, until that is taken for the machine's way."""


class Pool:
    """Workers of one kind. All are started by one thread, which lives as long as this process.

    Sessions share nothing: a worker comes from here new and goes to `discard`, never back. A process that was forked
    off has no thread and no workers of its own here; `pool_of` gives it its own pool.
    """

    def __init__(self, spec: Spec, *, warm: int, live: int):
        self.spec = spec
        self.warm = warm
        self.live = live
        self.ready: deque[Worker] = deque()
        self.taken: set[Worker] = set()
        self.waiting = 0
        self.failure: HandaxeError | None = None
        self.change = threading.Condition()
        self.closed = False
        self.thread = threading.Thread(target=self._start_workers, daemon=True, name="handaxe-sandbox")
        self.thread.start()

    def take(self, *, seconds: float = START) -> Worker:
        """A worker that has not run anything yet, ready for its first request.

        Raises:
            InfrastructureError: none could be started in time, or `live` sessions are open already.
            InputError: the sandbox cannot work on this machine.
        """
        deadline, died = time.monotonic() + seconds, 0
        while True:
            worker = self._next(deadline)
            try:
                if worker.folder is None:
                    greet(worker, seconds=max(0.1, deadline - time.monotonic()))
                if worker.alive:
                    return worker
            except InfrastructureError:
                died += 1
                if died > self.warm + TRIES or time.monotonic() > deadline:
                    self.discard(worker)
                    raise
            self.discard(worker)  # it died while it waited or began, which says nothing about the next one

    def discard(self, worker: Worker) -> None:
        """Kill a worker that was taken, whatever state it is in; once more does nothing."""
        worker.destroy()
        if worker.owner == os.getpid():
            with self.change:
                self.taken.discard(worker)

    def close(self) -> None:
        """Kill all workers, also those that are taken."""
        with self.change:
            self.closed = True
            workers = [*self.ready, *self.taken]
            self.ready.clear()
            self.taken.clear()
            self.change.notify_all()
        for worker in workers:
            worker.destroy()
        # One that is being started right now is destroyed by the thread.
        self.thread.join(timeout=SETUP)

    def _next(self, deadline: float) -> Worker:
        with self.change:
            self.waiting += 1
            self.change.notify_all()
            try:
                while not self._may_take():
                    if not self.change.wait(deadline - time.monotonic()):
                        raise InfrastructureError("no Python sandbox could be started in time")
                worker = self.ready.popleft()
                self.taken.add(worker)
                return worker
            finally:
                self.waiting -= 1
                self.change.notify_all()

    def _may_take(self) -> bool:
        """Whether a worker is there to be taken; raises when waiting for one is in vain."""
        if self.closed:
            raise InfrastructureError("the pool of Python sandboxes is closed")
        if len(self.taken) >= self.live:
            raise InfrastructureError(
                f"{self.live} Python sandboxes are in use, the most that are allowed at once: close some, run fewer "
                "rollouts at a time, or allow more with live="
            )
        if self.failure is not None and not self.ready:
            failure, self.failure = self.failure, None
            raise failure
        return bool(self.ready)

    def _start_workers(self) -> None:
        """Keep `warm` workers ready, and as many more as are waited for."""
        while True:
            with self.change:
                while not self.closed and len(self.ready) >= self.warm + self.waiting:
                    self.change.wait()
                while not self.closed and self.failure is not None and not self.waiting:
                    self.change.wait()  # after a failure, try again only when a session is asked for
                if self.closed:
                    return
            try:
                worker = launch(self.spec)
            except (HandaxeError, OSError) as error:
                failure = error if isinstance(error, HandaxeError) else InfrastructureError(f"no sandbox: {error!r}")
                with self.change:
                    self.failure = failure
                    self.change.notify_all()
                    self.change.wait(0.1)
                continue
            with self.change:
                self.ready.append(worker)
                late = self.closed
                self.change.notify_all()
            if late:
                worker.destroy()


@functools.cache
def _pools(process: int) -> tuple[threading.Lock, dict[tuple[Spec, int, int], Pool]]:
    """Of one process, by its number: one that was forked off must not touch those of its parent."""
    pools: dict[tuple[Spec, int, int], Pool] = {}

    def close() -> None:
        if os.getpid() == process:
            for pool in pools.values():
                with suppress(OSError):
                    pool.close()

    atexit.register(close)
    return threading.Lock(), pools


def pool_of(spec: Spec, *, warm: int, live: int) -> Pool:
    """The pool of this process for such workers; made, and filled in the background, when first asked for.

    Args:
        spec: of the workers.
        warm: how many wait, started, for a session, >= 0.
        live: most sessions at once, >= 1.
    """
    if isinstance(warm, bool) or not 0 <= warm <= 1000 or live < 1:
        raise InputError(f"warm must be from 0 to 1000 and live at least 1; they are {warm} and {live}")
    lock, pools = _pools(os.getpid())
    with lock:
        if (spec, warm, live) not in pools:
            pools[spec, warm, live] = Pool(spec, warm=warm, live=live)
        return pools[spec, warm, live]
