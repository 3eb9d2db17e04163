"""Concurrent requests share one stream; a failure affects one request only."""

import asyncio
import threading

import pytest

from handaxe.core.errors import InputError, SamplingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local import continuous_batching
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import ASSISTANT, END, USER
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.serving.batching_server import STEP, BatchingServer

STOP = frozenset({END})


def make_request(text, *, seed=0, max_tokens=40, temperature=1.0):
    return Sample([USER, *text.encode(), END, ASSISTANT], Sampling(temperature, max_tokens=max_tokens), seed, STOP)


@pytest.fixture
def engine():
    return LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=3))


def run_with_server(engine, work):
    async def run():
        server = BatchingServer(engine)
        try:
            return await work(server)
        finally:
            server.close()

    return asyncio.run(run())


def test_completions_equal_those_of_the_engine(engine):
    requests = [
        make_request("a"),
        make_request("bc", seed=5),
        make_request("a", seed=1, max_tokens=7),
        make_request("d", temperature=0.0),
    ]

    async def work(server):
        return await asyncio.gather(*(server.complete(request) for request in requests))

    found = run_with_server(engine, work)
    assert [one.ids for one in found] == [one.ids for one in engine.sample(requests)]


@pytest.mark.parametrize("max_tokens", [1, STEP, 3 * STEP + 1, 500])
def test_steps_grow_to_the_completion_of_the_engine(engine, max_tokens):
    request = make_request("abc", seed=2, max_tokens=max_tokens)

    async def work(server):
        return [step async for step in server.steps(request)]

    steps = run_with_server(engine, work)
    (expected,) = engine.sample([request])
    assert steps[-1].ids == expected.ids and steps[-1].finish == expected.finish
    for step in steps:
        assert step.ids == expected.ids[: len(step.ids)]
    assert len(steps) == -(-len(expected.ids) // STEP)


def test_invalid_request_fails_alone(engine):
    async def work(server):
        invalid = Sample([], Sampling(), 0, STOP)
        return await asyncio.gather(
            server.complete(make_request("a")), server.complete(invalid), return_exceptions=True
        )

    completed, failed = run_with_server(engine, work)
    assert completed.ids and isinstance(failed, InputError)


class BlockedStream:
    """A stream that blocks until `released` is set and records interrupted tickets."""

    def __init__(self, inner):
        self._inner, self.interrupted = inner, []
        self.released = threading.Event()
        self.submit, self.close = inner.submit, inner.close

    def __len__(self):
        return len(self._inner)

    def poll(self):
        if not self.released.is_set():
            assert self.released.wait(60)
            return []
        return self._inner.poll()

    def interrupt(self, ticket):
        self.interrupted.append(ticket)
        return self._inner.interrupt(ticket)


def test_cancelled_request_leaves_the_stream_and_others_complete(engine, monkeypatch):
    stream = BlockedStream(engine.stream())
    (expected,) = engine.sample([make_request("b")])
    monkeypatch.setattr(engine, "stream", lambda: stream)

    async def work(server):
        cancelled = asyncio.create_task(server.complete(make_request("a", max_tokens=90)))
        while not server._jobs:
            await asyncio.sleep(0.001)
        (ticket,) = server._jobs
        cancelled.cancel()
        await asyncio.wait([cancelled])
        pending = asyncio.create_task(server.complete(make_request("b")))
        stream.released.set()
        return ticket, await pending

    ticket, completion = run_with_server(engine, work)
    assert completion.ids == expected.ids and stream.interrupted == [ticket]


def test_sampling_error_fails_only_running_requests(engine):
    weight = engine.model.module.embed.weight

    async def work(server):
        saved = weight.detach().clone()
        weight.data.fill_(float("nan"))
        with pytest.raises(Exception, match="not finite"):
            await server.complete(make_request("a"))
        weight.data.copy_(saved)
        return await server.complete(make_request("a"))

    assert run_with_server(engine, work).ids == engine.sample([make_request("a")])[0].ids


async def outcomes(server, requests):
    return await asyncio.gather(*(server.complete(request) for request in requests), return_exceptions=True)


def test_row_with_overflowing_logits_fails_alone(engine, monkeypatch):
    monkeypatch.setattr(continuous_batching, "check_request", lambda *_: None)  # refuses the temperature
    requests = [make_request(text, seed=k) for k, text in enumerate("abcdefghijkl")]

    async def work(server):
        return await outcomes(server, [*requests, make_request("a", temperature=1e-308)])

    *completed, failed = run_with_server(engine, work)
    assert isinstance(failed, SamplingError)
    assert [one.ids for one in completed] == [one.ids for one in engine.sample(requests)]


class FailingStream:
    """A stream whose `poll` raises while a request with the byte "!" runs."""

    def __init__(self, inner):
        self._inner, self._bad = inner, set()
        self.close, self.poll_inner = inner.close, inner.poll

    def __len__(self):
        return len(self._inner)

    def submit(self, request):
        ticket = self._inner.submit(request)
        if ord("!") in request.ids:
            self._bad.add(ticket)
        return ticket

    def interrupt(self, ticket):
        self._bad.discard(ticket)
        return self._inner.interrupt(ticket)

    def poll(self):
        if self._bad:
            raise MemoryError("out of memory")
        return self._inner.poll()


@pytest.mark.parametrize("bad", [1, 3, 13])
def test_requests_that_break_the_stream_fail_alone(engine, monkeypatch, bad):
    requests = [make_request(text, seed=k) for k, text in enumerate("abcdefghijkl")]
    expected = [one.ids for one in engine.sample(requests)]
    make_stream = engine.stream
    monkeypatch.setattr(engine, "stream", lambda: FailingStream(make_stream()))

    async def work(server):
        found = await outcomes(server, [*(make_request("!", seed=k) for k in range(bad)), *requests])
        return found, await server.complete(requests[0])

    found, later = run_with_server(engine, work)
    assert all(isinstance(one, RuntimeError) for one in found[:bad])
    assert [one.ids for one in found[bad:]] == expected and later.ids == expected[0]


def test_request_that_raises_at_submission_fails_alone(engine):
    requests = [make_request("a"), make_request("b")._replace(stop=None), make_request("c")]
    first, failed, last = run_with_server(engine, lambda server: outcomes(server, requests))
    assert isinstance(failed, RuntimeError)
    assert [first.ids, last.ids] == [one.ids for one in engine.sample([requests[0], requests[2]])]


def test_engine_without_stream_fails_each_request(engine, monkeypatch):
    def stream():
        raise OSError("the device is lost")

    monkeypatch.setattr(engine, "stream", stream)

    async def work(server):
        return [await outcomes(server, [make_request("a"), make_request("b")]) for _ in range(2)]

    for found in run_with_server(engine, work):
        assert all(isinstance(one, RuntimeError) for one in found)
