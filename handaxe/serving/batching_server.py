"""Batching of concurrent requests: a single thread runs the stream of the engine, shared by all requests."""

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

    Args:
        engine: sampled by one background thread, which ends with `close`.
    """

    def __init__(self, engine: StreamingEngine):
        self._engine = engine
        self._inbox: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._jobs: dict[int, _Job] = {}
        self._thread = threading.Thread(target=self._run, name="handaxe-batching", daemon=True)
        self._thread.start()

    async def complete(self, request: Sample) -> Completion:
        """Sample one completion. Cancellation removes the request from the stream.

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
            job.cancelled = True

    async def steps(self, request: Sample) -> AsyncGenerator[Completion]:
        """Sample a completion in steps of a few tokens; yields growing completions, the last one complete."""
        partial = Partial([], [], [], [])
        limit = min(request.sampling.max_tokens, self._engine.max_length - len(request.ids))
        while True:
            max_tokens = min(len(partial.ids) + STEP, limit)
            sampling = replace(request.sampling, max_tokens=max_tokens)
            done = await self.complete(request._replace(sampling=sampling, prefix=partial))
            yield done
            if done.finish != "length" or len(done.ids) >= limit:
                return
            partial = Partial(*done[:4])

    def close(self) -> None:
        """End the thread; pending requests fail."""
        self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        stream = self._engine.stream()
        while True:
            try:
                if not self._submit_waiting(stream):
                    break
                for ticket in [ticket for ticket, job in self._jobs.items() if job.cancelled]:
                    stream.interrupt(ticket)
                    del self._jobs[ticket]
                for ticket, completion in stream.poll() if len(stream) else ():
                    self._jobs.pop(ticket).resolve(completion)
            except Exception as error:  # the next request gets a new stream
                LOGGER.exception("sampling failed")
                failure = error if isinstance(error, HandaxeError) else RuntimeError("sampling failed")
                for job in self._jobs.values():
                    job.resolve(failure)
                self._jobs.clear()
                stream.close()
                stream = self._engine.stream()
        for job in self._jobs.values():
            job.resolve(RuntimeError("the server stops"))
        stream.close()

    def _submit_waiting(self, stream: Stream) -> bool:
        """Submit waiting requests, blocking while the stream is idle; False after `close`."""
        idle = not len(stream)
        while True:
            try:
                job = self._inbox.get(block=idle)
            except queue.Empty:
                return True
            if job is None:
                return False
            idle = False
            if job.cancelled:
                continue
            try:
                self._jobs[stream.submit(job.request)] = job
            except HandaxeError as error:
                job.resolve(error)
