"""Starts, health checks and restarts of small real servers that fail on demand."""

import time

import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.engines.local.engine import LocalEngine

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")
from helpers.sampled_engine import Sampled, make_model, requests
from helpers.small_vllm import SmallVllm


def test_requests_fail_if_all_servers_were_given_up(sampled):
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), faults={"/start_weight_update": 500}))
    stream = engine.stream()
    tickets = [stream.submit(request) for request in requests(2)]
    ended = {}
    while len(stream):
        ended.update(stream.poll(1.0))
    assert sorted(ended) == tickets and all(isinstance(error, InfrastructureError) for error in ended.values())
    assert "no server is left" in str(ended[0]) and "fault 500" in str(ended[0])
    assert all(server.ended.is_set() for server in engine.started)
    with pytest.raises(InfrastructureError, match="no server is left"):
        engine.sample(requests(1))


@pytest.mark.slow
def test_server_without_health_answer_is_restarted(sampled, monkeypatch):
    monkeypatch.setattr("handaxe.engines.vllm.server_states.HEALTH_INTERVAL", 0.05)
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), pace=0.02), timeout=3.0)
    stream = engine.stream()
    stream.submit(requests(1)[0])
    stream.poll(0.05)
    engine.started[0].silent = True
    engine.started[0].pace = 60.0
    done = {}
    while len(stream):
        done.update(stream.poll(1.0))
    assert done[0].ids == LocalEngine(make_model()).sample(requests(1))[0].ids
    assert len(engine.started) == 2


def test_failed_start_of_one_server_ends_the_wait():
    made = []

    def launch(number, folder):
        made.append(SmallVllm(make_model(), faults={"/health": 503}))
        if number == 1:
            made[-1].stop()
        return made[-1]

    start_time = time.monotonic()
    with pytest.raises(InfrastructureError, match="server 1 cannot be used"):
        Sampled(make_model(), launch, count=2, start_timeout=300.0)
    assert time.monotonic() - start_time < 60 and all(server.ended.is_set() for server in made)


def test_start_timeout_names_the_reason_and_stops_the_server():
    start_time = time.monotonic()
    made = []

    def launch(number, folder):
        made.append(SmallVllm(make_model(), faults={"/health": 503}))
        return made[-1]

    with pytest.raises(InfrastructureError, match="not up within 0.5 s.*the last words"):
        Sampled(make_model(), launch, start_timeout=0.5)
    assert time.monotonic() - start_time < 20 and made[0].ended.is_set()

    def launch_dead(number, folder):
        made.append(SmallVllm(make_model(), faults={"/health": 503}))
        made[-1].stop()
        return made[-1]

    with pytest.raises(InfrastructureError, match="server 0 cannot be used.*the last words"):
        Sampled(make_model(), launch_dead, start_timeout=5.0)
