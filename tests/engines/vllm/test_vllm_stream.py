"""Routing of turns and interruption in VllmStream; test_servers.py has further tests with the same small servers."""

import time

import pytest

from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")
from helpers import sampled_engine

REQUEST = Sample([1, 2, 3], Sampling(max_tokens=12), 5, frozenset())


@pytest.fixture
def engine():
    engine = sampled_engine.Sampled(sampled_engine.make_model(), count=2)
    yield engine
    engine.close()


def finish(stream):
    done = {}
    while len(stream):
        done.update(stream.poll(1.0))
    return done


def test_turns_of_a_trajectory_go_to_the_server_with_their_prefix(engine, monkeypatch):
    monkeypatch.setattr("handaxe.engines.vllm.prefix_router.BLOCK", 2)
    engine.servers.push()
    stream = engine.stream()
    counts = []
    for server in engine.started:
        server.paths.clear()
    history = [1, 2, 3, 4]
    for turn in range(4):
        ticket = stream.submit(Sample(history, Sampling(max_tokens=2), turn, frozenset()))
        other = stream.submit(Sample([9 + turn, 8], Sampling(max_tokens=2), turn, frozenset()))
        done = finish(stream)
        history = [*history, *done[ticket].ids]
        counts.append([server.paths.count("/inference/v1/generate") for server in engine.started])
        assert len(done[other].ids) == 2
    assert counts[-1] == [4, 4], "the trajectory stays on one server; requests without prefix go to the other"


def test_no_request_is_sent_before_the_first_poll(engine):
    stream = engine.stream()
    stream.submit(REQUEST)
    assert not any("/inference/v1/generate" in server.paths for server in engine.started)
    assert stream.interrupt(0) == ([], [], [], [])


def test_interrupt_of_an_ended_turn_drops_the_last_token(engine):
    want = LocalEngine(sampled_engine.make_model()).sample([REQUEST])[0]
    for server in engine.started:
        server.pace = 0.3
    stream = engine.stream()
    ticket = stream.submit(REQUEST)
    assert stream.poll() == []
    for server in engine.started:
        server.pace = 0.0
    while any(server.waiting for server in engine.started) or not stream._turns[ticket].future.done():
        time.sleep(0.01)
    got = stream.interrupt(ticket)
    assert got.ids == want.ids[:-1] and len(got.logp) == len(got.ids)
    ticket = stream.submit(REQUEST._replace(prefix=got))
    assert finish(stream)[ticket].ids == want.ids


def test_close_aborts_all_requests(engine):
    for server in engine.started:
        server.pace = 0.2
    stream = engine.stream()
    for seed in range(4):
        stream.submit(REQUEST._replace(seed=seed))
    stream.poll(0.1)
    stream.close()
    assert len(stream) == 0 and [server.load for server in engine.servers.states.servers] == [0, 0]
    deadline = time.monotonic() + 10
    while any(server.waiting for server in engine.started):
        assert time.monotonic() < deadline, "the requests were not aborted"
        time.sleep(0.01)
