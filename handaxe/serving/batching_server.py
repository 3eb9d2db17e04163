"""Batching of concurrent requests: a single thread runs the stream of the engine, shared by all requests."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from handaxe.core.errors import HandaxeError, InputError, SamplingError
from handaxe.core.protocols import Engine, Stream
from handaxe.core.requests import Completion, Partial, Sample

__all__ = ["BatchingServer", "StreamingEngine"]

LOGGER = logging.getLogger(__name__)
STEP = 8
"""Tokens between two partial completions of a streamed request."""


class StreamingEngine(Engine, Protocol):
    """An engine with streams."""

    def stream(self) -> Stream:
        """Open a stream."""
        ...


@dataclass(eq=False)
class _Job:
    """A request and the future of its completion."""

    request: Sample
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Completion]
    cancelled: bool = False

    def resolve(self, result: Completion | Exception) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            self.loop.call_soon_threadsafe(self._set, result)

    def _set(self, result: Completion | Exception) -> None:
        if self.future.done():
            return
        if isinstance(result, Exception):
            self.future.set_exception(result)
        else:
            self.future.set_result(result)


class BatchingServer:
    """Submits requests to the stream and returns their completions; an error fails the affected requests only.

    A stream that raises without naming a request is replaced, and its requests are sampled again in halves, each half
    in a new stream, until the failing request is alone. Completions do not change: a request has its own seed.

    Args:
        engine: sampled by one background thread, which ends with `close`.
    """

    def __init__(self, engine: StreamingEngine):
        self._engine = engine
        self._inbox: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._jobs: dict[int, _Job] = {}
        self._groups: list[list[_Job]] = []
        self._alone = False  # the stream samples a group, and new requests wait
        self._stopping = self._stopped = False
        self._thread = threading.Thread(target=self._run, name="handaxe-batching", daemon=True)
        self._thread.start()

    async def complete(self, request: Sample) -> Completion:
        """Sample one completion. Cancellation removes the request from the stream.

        Raises:
            InputError: the request cannot be sampled.
            SamplingError: the model's logits are not finite.
            RuntimeError: the engine failed, or the server stops.
        """
        loop = asyncio.get_running_loop()
        job = _Job(request, loop, loop.create_future())
        self._inbox.put(job)
        if self._stopped:
            job.resolve(RuntimeError("the server stops"))
        try:
            return await job.future
        finally:
            job.cancelled = True

    async def steps(self, request: Sample) -> AsyncGenerator[Completion]:
        """Sample a completion in steps of a few tokens; yields growing completions, the last one complete."""
        partial, top = Partial([], [], [], []), list[Sequence[tuple[int, float]]]()
        limit = min(request.sampling.max_tokens, self._engine.max_length - len(request.ids))
        while True:
            max_tokens = min(len(partial.ids) + STEP, limit)
            sampling = replace(request.sampling, max_tokens=max_tokens)
            done = await self.complete(request._replace(sampling=sampling, prefix=partial))
            top += done.top
            yield done._replace(top=list(top))
            if done.finish != "length" or len(done.ids) >= limit:
                return
            partial = Partial(*done[:4])

    def close(self) -> None:
        """End the thread; pending requests fail."""
        self._stopping = True
        self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._run_stream(self._engine.stream())
        except Exception:
            LOGGER.exception("the engine makes no stream")
        self._stopped = True  # before the queue is emptied: a later request fails in `complete`
        pending = [*self._jobs.values(), *(job for group in self._groups for job in group)]
        with suppress(queue.Empty):
            while True:
                pending += [job for job in [self._inbox.get_nowait()] if job is not None]
        for job in pending:
            job.resolve(RuntimeError("the server stops"))

    def _run_stream(self, stream: Stream) -> None:
        """Sample until the server stops or the stream fails."""
        try:
            while not self._stopping:
                self._submit_waiting(stream)
                self._interrupt_cancelled(stream)
                try:
                    for ticket, completion in stream.poll() if len(stream) else ():
                        self._resolve(ticket, completion)
                except SamplingError as error:
                    LOGGER.warning("%s", error)
                    self._resolve(error.ticket, error)
        except Exception as error:
            LOGGER.exception("sampling failed")
            self._split(error)
        with suppress(Exception):  # a failed stream may also fail to close
            stream.close()

    def _resolve(self, ticket: int, result: Completion | Exception) -> None:
        if (job := self._jobs.pop(ticket, None)) is not None:
            job.resolve(result)

    def _split(self, error: Exception) -> None:
        """Queue the requests of a failed stream for two new streams; fail a request that was alone."""
        jobs = [job for job in self._jobs.values() if not job.cancelled]
        self._jobs.clear()
        if len(jobs) == 1:
            jobs[0].resolve(error if isinstance(error, HandaxeError) else RuntimeError("sampling failed"))
        elif jobs:
            self._groups += [jobs[: len(jobs) // 2], jobs[len(jobs) // 2 :]]

    def _interrupt_cancelled(self, stream: Stream) -> None:
        for ticket in [ticket for ticket, job in self._jobs.items() if job.cancelled]:
            with suppress(InputError):  # it has ended
                stream.interrupt(ticket)
            del self._jobs[ticket]

    def _submit_waiting(self, stream: Stream) -> None:
        """Submit waiting requests: a group of a failed stream alone, else all; blocks while the stream is idle."""
        idle = not len(stream)
        if idle:
            self._alone = bool(self._groups)
            for job in self._groups.pop() if self._groups else ():
                self._submit(stream, job)
        if self._alone:
            return
        with suppress(queue.Empty):
            while (waiting := self._inbox.get(block=idle)) is not None:
                self._submit(stream, waiting)
                idle = False

    def _submit(self, stream: Stream, job: _Job) -> None:
        if job.cancelled:
            return
        try:
            self._jobs[stream.submit(job.request)] = job
        except HandaxeError as error:
            job.resolve(error)
        except Exception:
            LOGGER.exception("a request cannot be submitted")
            job.resolve(RuntimeError("sampling failed"))
