"""Servers are given weights, watched, restarted and ended: against small real servers that fail on demand."""

import time

import pytest
import torch

from handaxe.core.errors import InfrastructureError, InputError, TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Measure, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.servers import VllmServers
from handaxe.engines.vllm.weights import FileTransport, ServedPolicy, served_weights
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing import engine_streams
from handaxe.testing.engine_case import EngineCase

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")
from helpers import small_vllm

SmallVllm = small_vllm.SmallVllm
CONFIG = TinyConfig(vocab_size=20, width=8, layers=1, heads=2, max_length=18)


def make_model(seed=2):
    model = TinyModel(TinyModel.new(CONFIG, seed=seed).module, pad_id=3)
    with torch.no_grad():
        model.module.embed.weight.mul_(8)
    return model


def requests(count, **fields):
    asked = [Sample([1 + k % 3, 2, 3], Sampling(max_tokens=10), k, frozenset()) for k in range(count)]
    return [request._replace(**fields) for request in asked]


class Sampled(LocalEngine):
    """Trains itself and samples by small servers."""

    def __init__(self, model, launch=None, count=1, **options):
        super().__init__(model)
        self.policy = ServedPolicy(
            version=lambda: self.version,
            mark=lambda: (self.version, sum(p._version for p in model.module.parameters())),
            gather=lambda: served_weights(model.module),
            score=lambda ids: self.measure([Measure(ids, 1)])[0]["logp"],
            vocab_size=model.vocab_size,
            max_length=model.max_length,
        )
        self.started = []
        # A server begins with weights of its own, so that nothing works unless it was given the engine's.
        launch = launch or (lambda number, folder: SmallVllm(make_model(seed=77), pace=0.002))

        def kept(number, folder):
            self.started.append(launch(number, folder))
            return self.started[-1]

        options = {"start_servers": count, "write_config": lambda folder: None, "timeout": 5.0} | options
        if "servers" in options:
            options |= {"start_servers": 0}
        self.servers = VllmServers(self.policy, launch=kept, **options)

    def stream(self):
        return self.servers.stream()

    def sample(self, asked):
        return self.servers.sample(asked)

    def close(self):
        self.servers.close()


@pytest.fixture
def sampled():
    made = []

    def make(*args, **options):
        made.append(Sampled(make_model(), *args, **options))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.mark.parametrize("check", engine_streams.__all__)
def test_the_contract_of_streams(check, tmp_path):
    """All of `check_engine` passes; what is about learning and measuring is LocalEngine's here."""
    made = []

    def make_engine():
        made.append(Sampled(make_model(), count=1 + (check == "check_lost_sampler")))
        return made[-1]

    kill = lambda engine: engine.started[0].stop()  # noqa: E731
    case = EngineCase(make_engine, make_model, tmp_path, 1e-5, None, None, False, kill)
    try:
        getattr(engine_streams, check)(case)
    finally:
        for engine in made:
            engine.close()


def test_a_push_gathers_once_and_clears_every_cache(sampled):
    engine = sampled(count=2)
    gathered = []
    gather = engine.policy.gather
    engine.servers.policy = engine.policy._replace(gather=lambda: gathered.append(1) or gather())
    metrics = engine.servers.push()
    assert (metrics["push_servers"], len(gathered)) == (2.0, 1)
    assert 0 <= metrics["push_gap"] < 1e-5 and metrics["push_seconds"] > 0
    order = ["/pause", "/start_weight_update", "/update_weights", "/finish_weight_update", "/resume", "/weight_info"]
    for server in engine.started:
        assert [path for path in server.heard if path in order] == order
        assert server.heard.index("/resume") < server.heard.index("/inference/v1/generate")
    engine.servers.push()
    assert len(gathered) == 1, "nothing has changed"
    with torch.no_grad():
        next(iter(engine.model.module.parameters())).mul_(1.01)
    engine.servers.push()
    assert len(gathered) == 2, "weights that changed without a step are sent, too"


def test_the_probe_finds_weights_that_were_not_replaced(sampled):
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), stale="embed"))
    stream = engine.stream()
    stream.submit(requests(1)[0])
    with pytest.raises(TrainingError, match="other log-probs than the engine.*most_gap"):
        stream.poll(5.0)
    assert engine.servers.metrics["push_gap"] > 1e-3


def test_a_server_killed_with_requests_at_work_changes_no_token(sampled):
    want = LocalEngine(make_model()).sample(requests(12))
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), pace=0.3), count=2)
    stream = engine.stream()
    for request in requests(12):
        stream.submit(request)
    stream.poll()
    first, other = engine.started
    while len(first.waiting) + len(other.waiting) < 12:
        time.sleep(0.01)
    assert len(first.waiting) > 2 and len(other.waiting) > 2, "both are at work"
    first.stop()
    other.pace = 0.0
    done = {}
    while len(stream):
        done.update(stream.poll(1.0))
    assert [done[k].ids for k in range(12)] == [completion.ids for completion in want]
    assert {v for completion in done.values() for v in completion.version} == {0}


def test_a_server_that_dies_in_an_update_is_begun_again_and_given_the_weights(sampled):
    faults = iter([{"/finish_weight_update": "die"}, {}])
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), faults=next(faults)), timeout=4.0)
    done = engine.sample(requests(3))
    assert [c.ids for c in done] == [c.ids for c in LocalEngine(make_model()).sample(requests(3))]
    first, second = engine.started
    assert first.ended.is_set() and not second.ended.is_set()
    before = second.heard[: second.heard.index("/inference/v1/generate")]
    assert "/weight_info" in before, "it is asked for nothing before it has the weights"


def test_a_server_that_refuses_an_update_is_not_left_in_the_middle_of_it(sampled):
    faults = iter([{"/update_weights": 400}, {}])
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), faults=next(faults)))
    assert len(engine.sample(requests(1))) == 1
    assert engine.started[0].ended.is_set() and len(engine.started) == 2


def test_when_none_can_come_every_request_ends_as_an_error(sampled):
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


def test_a_silent_server_is_lost(sampled, monkeypatch):
    monkeypatch.setattr("handaxe.engines.vllm.servers.PULSE", 0.05)
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


def test_a_request_that_ends_every_server_is_given_up(sampled):
    class Poisoned(SmallVllm):
        async def _generate(self, body):
            if body["request_id"].startswith("probe"):
                return await super()._generate(body)
            return small_vllm.JSONResponse({}, 500)

    engine = sampled(lambda number, folder: Poisoned(make_model(seed=77)))
    stream = engine.stream()
    stream.submit(requests(1)[0])
    ended = {}
    while len(stream):
        ended.update(stream.poll(1.0))
    assert isinstance(ended[0], InfrastructureError) and "3 servers were lost with it" in str(ended[0])
    assert len(engine.started) >= 3


@pytest.mark.parametrize("finish", ["abort", "length"])
def test_a_request_that_every_server_ends_without_a_token_is_given_up(sampled, finish):
    class Empty(SmallVllm):
        async def _generate(self, body):
            if body["request_id"].startswith("probe"):
                return await super()._generate(body)
            return small_vllm.JSONResponse(self._answer([], [], [], [], finish))

    engine = sampled(lambda number, folder: Empty(make_model(seed=77)))
    with pytest.raises(InfrastructureError, match="3 servers were lost with it.*after 0 tokens"):
        engine.sample(requests(1))


def test_one_server_that_cannot_start_ends_the_wait_for_the_others():
    made = []

    def launch(number, folder):
        made.append(SmallVllm(make_model(), faults={"/health": 503}))
        if number == 1:
            made[-1].stop()
        return made[-1]

    began = time.monotonic()
    with pytest.raises(InfrastructureError, match="server 1 cannot be used"):
        Sampled(make_model(), launch, count=2, start_timeout=300.0)
    assert time.monotonic() - began < 60 and all(server.ended.is_set() for server in made)


def test_a_server_that_never_comes_up_says_why_and_leaves_nothing():
    began = time.monotonic()
    made = []

    def launch(number, folder):
        made.append(SmallVllm(make_model(), faults={"/health": 503}))
        return made[-1]

    with pytest.raises(InfrastructureError, match="not up within 0.5 s.*the last words"):
        Sampled(make_model(), launch, start_timeout=0.5)
    assert time.monotonic() - began < 20 and made[0].ended.is_set()

    def dies(number, folder):
        made.append(SmallVllm(make_model(), faults={"/health": 503}))
        made[-1].stop()
        return made[-1]

    with pytest.raises(InfrastructureError, match="server 0 cannot be used.*the last words"):
        Sampled(make_model(), dies, start_timeout=5.0)


def test_running_servers_are_used_and_left_running(sampled):
    server = SmallVllm(make_model(seed=77))
    engine = sampled(servers=[server.url])
    assert engine.sample(requests(2))[1].ids == LocalEngine(make_model()).sample(requests(2))[1].ids
    engine.close()
    engine.close()
    assert server.alive() and not engine.started
    server.stop()


def test_refusals(sampled, tmp_path):
    policy = sampled().policy
    with pytest.raises(InputError, match="either the addresses"):
        VllmServers(policy)
    with pytest.raises(InputError, match="either the addresses"):
        VllmServers(policy, servers=["http://127.0.0.1:9"], start_servers=1)
    with pytest.raises(InputError, match="write_config"):
        VllmServers(policy, start_servers=1)
    with pytest.raises(InfrastructureError, match="no address"):
        VllmServers(policy, servers=["localhost"])
    engine = sampled(transport=FileTransport(tmp_path))
    engine.sample(requests(1))
    assert len(list(tmp_path.rglob("*.safetensors"))) == 1
    engine.close()
    assert not list(tmp_path.iterdir()), "the weights are removed"
