"""Pool of started workers; each serves one session and is then destroyed."""

from __future__ import annotations

import atexit
import functools
import os
import threading
import time
from collections import deque
from contextlib import suppress

from handaxe.core.errors import HandaxeError, InfrastructureError, InputError
from handaxe.tools.sandbox.command import SandboxSpec
from handaxe.tools.sandbox.launch import SETUP, await_ready, launch
from handaxe.tools.sandbox.process import Worker

__all__ = ["Pool", "shared_pool"]

START = 60.0
"""Seconds for a worker to start; many start at once on a busy machine."""
TRIES = 2
"""Workers in addition to the warm ones that may die before they are ready; more deaths count as the machine's fault."""


class Pool:
    """Pool of equal workers, started by a thread of the process.

    Sessions share nothing: a worker comes from the pool unused and goes to `discard`, never back. A forked process has
    no thread and no workers in this pool; `shared_pool` makes a pool for it.
    """

    def __init__(self, spec: SandboxSpec, *, warm: int, live: int):
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
        """Take an unused worker, ready for its first request.

        Raises:
            InfrastructureError: no worker started in time, or `live` sessions are open.
            InputError: the sandbox cannot work on this machine.
        """
        deadline, died = time.monotonic() + seconds, 0
        while True:
            worker = self._next(deadline)
            try:
                if worker.folder is None:
                    await_ready(worker, seconds=max(0.1, deadline - time.monotonic()))
                if worker.alive:
                    return worker
            except InfrastructureError:
                died += 1
                if died > self.warm + TRIES or time.monotonic() > deadline:
                    self.discard(worker)
                    raise
            self.discard(worker)  # it died while waiting or starting; the next worker may work

    def discard(self, worker: Worker) -> None:
        """Kill a taken worker in any state; a second call does nothing."""
        worker.destroy()
        if worker.owner == os.getpid():
            with self.change:
                self.taken.discard(worker)

    def close(self) -> None:
        """Kill all workers, also taken ones."""
        with self.change:
            self.closed = True
            workers = [*self.ready, *self.taken]
            self.ready.clear()
            self.taken.clear()
            self.change.notify_all()
        for worker in workers:
            worker.destroy()
        # The thread destroys a worker that is being started.
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
        """Test whether a worker is ready. Raises if waiting is useless."""
        if self.closed:
            raise InfrastructureError("the pool of Python sandboxes is closed")
        if len(self.taken) >= self.live:
            raise InfrastructureError(
                f"{self.live} Python sandboxes are in use, the limit: close some, run fewer rollouts at a time, or "
                "raise live="
            )
        if self.failure is not None and not self.ready:
            failure, self.failure = self.failure, None
            raise failure
        return bool(self.ready)

    def _start_workers(self) -> None:
        """Keep `warm` workers ready, and one more for each waiting caller."""
        while True:
            with self.change:
                while not self.closed and len(self.ready) >= self.warm + self.waiting:
                    self.change.wait()
                while not self.closed and self.failure is not None and not self.waiting:
                    self.change.wait()  # after a failure, retry only for a waiting caller
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
def _pools(process: int) -> tuple[threading.Lock, dict[tuple[SandboxSpec, int, int], Pool]]:
    """Hold the pools of a process, keyed by process id: a fork must not use its parent's pools."""
    pools: dict[tuple[SandboxSpec, int, int], Pool] = {}

    def close() -> None:
        if os.getpid() == process:
            for pool in pools.values():
                with suppress(OSError):
                    pool.close()

    atexit.register(close)
    return threading.Lock(), pools


def shared_pool(spec: SandboxSpec, *, warm: int, live: int) -> Pool:
    """Return this process's pool of such workers; made, and filled in the background, at the first call.

    Args:
        spec: of the workers.
        warm: started workers that wait for a session, >= 0.
        live: most sessions at once, >= 1.
    """
    if isinstance(warm, bool) or not 0 <= warm <= 1000 or live < 1:
        raise InputError(f"warm and live are {warm} and {live}; give warm from 0 to 1000 and live of 1 or more")
    lock, pools = _pools(os.getpid())
    with lock:
        if (spec, warm, live) not in pools:
            pools[spec, warm, live] = Pool(spec, warm=warm, live=live)
        return pools[spec, warm, live]
