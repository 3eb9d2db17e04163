"""What `check_engine` does not look at: which turns go where, and what an interrupted turn keeps. See
test_vllm_servers.py for the rest, with the same small servers."""

import importlib.util
import time
from pathlib import Path

import pytest

from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")
_spec = importlib.util.spec_from_file_location("test_servers", Path(__file__).with_name("test_servers.py"))
base = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(base)
REQUEST = Sample([1, 2, 3], Sampling(max_tokens=12), 5, frozenset())


@pytest.fixture
def engine():
    engine = base.Sampled(base.make_model(), count=2)
    yield engine
    engine.close()


def finish(stream):
    done = {}
    while len(stream):
        done.update(stream.poll(1.0))
    return done


def test_turns_of_an_attempt_go_where_their_prefix_lies(engine, monkeypatch):
    monkeypatch.setattr("handaxe.engines.vllm.prefix_router.BLOCK", 2)
    engine.servers.push()
    stream = engine.stream()
    asked = []
    for server in engine.started:
        server.heard.clear()
    history = [1, 2, 3, 4]
    for turn in range(4):
        ticket = stream.submit(Sample(history, Sampling(max_tokens=2), turn, frozenset()))
        other = stream.submit(Sample([9 + turn, 8], Sampling(max_tokens=2), turn, frozenset()))
        done = finish(stream)
        history = [*history, *done[ticket].ids]
        asked.append([server.heard.count("/inference/v1/generate") for server in engine.started])
        assert len(done[other].ids) == 2
    assert asked[-1] == [4, 4], "the attempt stays on one server, and what has no prefix goes to the other"


def test_nothing_is_sent_before_the_first_poll(engine):
    stream = engine.stream()
    stream.submit(REQUEST)
    assert not any("/inference/v1/generate" in server.heard for server in engine.started)
    assert stream.interrupt(0) == ([], [], [], [])


def test_of_a_turn_that_ended_unseen_the_last_token_is_left_to_be_drawn_again(engine):
    want = LocalEngine(base.make_model()).sample([REQUEST])[0]
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
    ticket = stream.submit(REQUEST._replace(begun=got))
    assert finish(stream)[ticket].ids == want.ids


def test_a_closed_stream_leaves_nothing_at_work(engine):
    for server in engine.started:
        server.pace = 0.2
    stream = engine.stream()
    for seed in range(4):
        stream.submit(REQUEST._replace(seed=seed))
    stream.poll(0.1)
    stream.close()
    assert len(stream) == 0 and [server.load for server in engine.servers._servers] == [0, 0]
    deadline = time.monotonic() + 10
    while any(server.waiting for server in engine.started):
        assert time.monotonic() < deadline, "the servers were not told to stop"
        time.sleep(0.01)
