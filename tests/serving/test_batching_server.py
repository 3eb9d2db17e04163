"""Requests that come at different times are sampled together, and what fails fails alone."""

import asyncio
import threading

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.compact import ASSISTANT, END, USER
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.serving.batching_server import STEP, BatchingServer

STOP = frozenset({END})


def asked(text, *, seed=0, most=40, temperature=1.0):
    return Sample([USER, *text.encode(), END, ASSISTANT], Sampling(temperature, max_tokens=most), seed, STOP)


@pytest.fixture
def engine():
    return LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=3))


def with_desk(engine, work):
    async def run():
        desk = BatchingServer(engine)
        try:
            return await work(desk)
        finally:
            desk.close()

    return asyncio.run(run())


def test_the_same_completions_as_of_the_engine(engine):
    requests = [asked("a"), asked("bc", seed=5), asked("a", seed=1, most=7), asked("d", temperature=0.0)]

    async def work(desk):
        return await asyncio.gather(*(desk.complete(request) for request in requests))

    found = with_desk(engine, work)
    assert [one.ids for one in found] == [one.ids for one in engine.sample(requests)]


@pytest.mark.parametrize("most", [1, STEP, 3 * STEP + 1, 500])
def test_a_turn_in_steps_is_the_same_turn(engine, most):
    request = asked("abc", seed=2, most=most)

    async def work(desk):
        return [step async for step in desk.steps(request)]

    steps = with_desk(engine, work)
    (whole,) = engine.sample([request])
    assert steps[-1].ids == whole.ids and steps[-1].finish == whole.finish
    for step in steps:
        assert step.ids == whole.ids[: len(step.ids)]
    assert len(steps) == -(-len(whole.ids) // STEP)


def test_one_that_cannot_be_sampled_fails_alone(engine):
    async def work(desk):
        wrong = Sample([], Sampling(), 0, STOP)
        return await asyncio.gather(desk.complete(asked("a")), desk.complete(wrong), return_exceptions=True)

    good, bad = with_desk(engine, work)
    assert good.ids and isinstance(bad, InputError)


class HeldStream:
    """A stream that first waits until it is let go, and keeps what was taken out of it."""

    def __init__(self, inner):
        self._inner, self.taken_out = inner, []
        self.let_go = threading.Event()
        self.submit, self.close = inner.submit, inner.close

    def __len__(self):
        return len(self._inner)

    def poll(self):
        if not self.let_go.is_set():
            assert self.let_go.wait(60)
            return []
        return self._inner.poll()

    def interrupt(self, ticket):
        self.taken_out.append(ticket)
        return self._inner.interrupt(ticket)


def test_who_goes_is_taken_out_and_the_others_go_on(engine, monkeypatch):
    stream = HeldStream(engine.stream())
    (alone,) = engine.sample([asked("b")])
    monkeypatch.setattr(engine, "stream", lambda: stream)

    async def work(desk):
        goes = asyncio.create_task(desk.complete(asked("a", most=90)))
        while not desk._jobs:
            await asyncio.sleep(0.001)
        (ticket,) = desk._jobs
        goes.cancel()
        await asyncio.wait([goes])
        stays = asyncio.create_task(desk.complete(asked("b")))
        stream.let_go.set()
        return ticket, await stays

    ticket, kept = with_desk(engine, work)
    assert kept.ids == alone.ids and stream.taken_out == [ticket]


def test_an_engine_that_breaks_breaks_only_what_was_at_work(engine):
    weight = engine.model.module.embed.weight

    async def work(desk):
        before = weight.detach().clone()
        weight.data.fill_(float("nan"))
        with pytest.raises(Exception, match="not finite"):
            await desk.complete(asked("a"))
        weight.data.copy_(before)
        return await desk.complete(asked("a"))

    assert with_desk(engine, work).ids == engine.sample([asked("a")])[0].ids
