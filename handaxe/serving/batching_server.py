"""Samples for many who ask at the same time: one thread runs the engine's stream, and every request joins it."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from handaxe.core.errors import HandaxeError
from handaxe.core.protocols import Engine, Stream
from handaxe.core.requests import Completion, Partial, Sample

__all__ = ["BatchingServer", "Samples"]

LOGGER = logging.getLogger(__name__)
STEP = 8
"""Tokens after which a turn is looked at while it is sampled."""


class Samples(Engine, Protocol):
    """An engine with a stream."""

    def stream(self) -> Stream:
        """A new one."""
        ...


@dataclass(eq=False)
class _Job:
    """A request on its way, and who waits for it."""

    request: Sample
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Completion]
    gone: bool = False

    def tell(self, result: Completion | Exception) -> None:
        with suppress(RuntimeError):  # the loop is closed: nothing waits any more
            self.loop.call_soon_threadsafe(self._tell, result)

    def _tell(self, result: Completion | Exception) -> None:
        if self.future.done():
            return
        if isinstance(result, Exception):
            self.future.set_exception(result)
        else:
            self.future.set_result(result)


class BatchingServer:
    """Hands requests to the stream and completions back; what fails fails for those whose request it was.

    Args:
        engine: sampled from by one thread, which ends with `close`.
    """

    def __init__(self, engine: Samples):
        self._engine = engine
        self._inbox: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._jobs: dict[int, _Job] = {}
        self._thread = threading.Thread(target=self._run, name="handaxe-desk", daemon=True)
        self._thread.start()

    async def complete(self, request: Sample) -> Completion:
        """One completion. Cancelling it takes the request out of the stream.

        Raises:
            InputError: the request cannot be sampled.
            TrainingError: the model's logits are not finite.
        """
        loop = asyncio.get_running_loop()
        job = _Job(request, loop, loop.create_future())
        self._inbox.put(job)
        try:
            return await job.future
        finally:
            job.gone = True

    async def steps(self, request: Sample) -> AsyncGenerator[Completion]:
        """The same completion as it grows, a few tokens at a time; the last is the whole."""
        begun = Partial([], [], [], [])
        limit = min(request.sampling.max_tokens, self._engine.max_length - len(request.ids))
        while True:
            most = min(len(begun.ids) + STEP, limit)
            part = replace(request.sampling, max_tokens=most)
            done = await self.complete(request._replace(sampling=part, begun=begun))
            yield done
            if done.finish != "length" or len(done.ids) >= limit:
                return
            begun = Partial(*done[:4])

    def close(self) -> None:
        """End the thread; who still waits gets an error."""
        self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        stream = self._engine.stream()
        while True:
            try:
                if not self._take(stream):
                    break
                for ticket in [ticket for ticket, job in self._jobs.items() if job.gone]:
                    stream.interrupt(ticket)
                    del self._jobs[ticket]
                for ticket, completion in stream.poll() if len(stream) else ():
                    self._jobs.pop(ticket).tell(completion)
            except Exception as error:  # the next request finds a new stream
                LOGGER.exception("sampling failed")
                told = error if isinstance(error, HandaxeError) else RuntimeError("sampling failed")
                for job in self._jobs.values():
                    job.tell(told)
                self._jobs.clear()
                stream.close()
                stream = self._engine.stream()
        for job in self._jobs.values():
            job.tell(RuntimeError("the server stops"))
        stream.close()

    def _take(self, stream: Stream) -> bool:
        """Let in what waits, waiting for it where there is nothing else to do; False when that is the end."""
        idle = not len(stream)
        while True:
            try:
                job = self._inbox.get(block=idle)
            except queue.Empty:
                return True
            if job is None:
                return False
            idle = False
            if job.gone:
                continue
            try:
                self._jobs[stream.submit(job.request)] = job
            except HandaxeError as error:
                job.tell(error)
