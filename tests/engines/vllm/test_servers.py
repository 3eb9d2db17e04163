"""VllmServers with small real servers that fail on demand: weight pushes, health checks, restarts, shutdown."""

import time

import pytest
import torch

from handaxe.core.errors import InfrastructureError, InputError, TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Measure, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.servers import VllmServers
from handaxe.engines.vllm.weight_transfer import FileTransport, ServedPolicy, served_weights
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
    samples = [Sample([1 + k % 3, 2, 3], Sampling(max_tokens=10), k, frozenset()) for k in range(count)]
    return [sample._replace(**fields) for sample in samples]


class Sampled(LocalEngine):
    """A LocalEngine sampled by small servers."""

    def __init__(self, model, launch=None, count=1, **options):
        super().__init__(model)
        self.policy = ServedPolicy(
            version=lambda: self.version,
            stamp=lambda: (self.version, sum(p._version for p in model.module.parameters())),
            gather=lambda: served_weights(model.module),
            score=lambda ids: self.measure([Measure(ids, 1)])[0]["logp"],
            vocab_size=model.vocab_size,
            max_length=model.max_length,
        )
        self.started = []
        # A server starts with other weights, so that nothing works without a push.
        launch = launch or (lambda number, folder: SmallVllm(make_model(seed=77), pace=0.002))

        def recorded(number, folder):
            self.started.append(launch(number, folder))
            return self.started[-1]

        options = {"start_servers": count, "write_config": lambda folder: None, "timeout": 5.0} | options
        if "servers" in options:
            options |= {"start_servers": 0}
        self.servers = VllmServers(self.policy, launch=recorded, **options)

    def stream(self):
        return self.servers.stream()

    def sample(self, samples):
        return self.servers.sample(samples)

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
def test_streams_pass_the_stream_checks(check, tmp_path):
    """The stream checks of `check_engine`; LocalEngine's tests run the others."""
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


def test_push_gathers_once_and_clears_every_cache(sampled):
    engine = sampled(count=2)
    gathered = []
    gather = engine.policy.gather
    engine.servers.policy = engine.policy._replace(gather=lambda: gathered.append(1) or gather())
    metrics = engine.servers.push()
    assert (metrics["push_servers"], len(gathered)) == (2.0, 1)
    assert 0 <= metrics["push_gap"] < 1e-5 and metrics["push_seconds"] > 0
    order = ["/pause", "/start_weight_update", "/update_weights", "/finish_weight_update", "/resume", "/weight_info"]
    for server in engine.started:
        assert [path for path in server.paths if path in order] == order
        assert server.paths.index("/resume") < server.paths.index("/inference/v1/generate")
    engine.servers.push()
    assert len(gathered) == 1, "weights are unchanged"
    with torch.no_grad():
        next(iter(engine.model.module.parameters())).mul_(1.01)
    engine.servers.push()
    assert len(gathered) == 2, "weights changed without an optimiser step are pushed, too"


def test_probe_detects_stale_weights(sampled):
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), stale="embed"))
    stream = engine.stream()
    stream.submit(requests(1)[0])
    with pytest.raises(TrainingError, match="differ from the engine's.*max_gap"):
        stream.poll(5.0)
    assert engine.servers.metrics["push_gap"] > 1e-3


def test_killed_server_with_running_requests_changes_no_token(sampled):
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


def test_server_that_dies_in_an_update_is_restarted_with_the_weights(sampled):
    faults = iter([{"/finish_weight_update": "die"}, {}])
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), faults=next(faults)), timeout=4.0)
    done = engine.sample(requests(3))
    assert [c.ids for c in done] == [c.ids for c in LocalEngine(make_model()).sample(requests(3))]
    first, second = engine.started
    assert first.ended.is_set() and not second.ended.is_set()
    before = second.paths[: second.paths.index("/inference/v1/generate")]
    assert "/weight_info" in before, "a restarted server samples nothing before it has the weights"


def test_server_that_refuses_an_update_is_restarted(sampled):
    faults = iter([{"/update_weights": 400}, {}])
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), faults=next(faults)))
    assert len(engine.sample(requests(1))) == 1
    assert engine.started[0].ended.is_set() and len(engine.started) == 2


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


def test_server_without_health_answer_is_restarted(sampled, monkeypatch):
    monkeypatch.setattr("handaxe.engines.vllm.servers.HEALTH_INTERVAL", 0.05)
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


def test_request_that_fails_on_every_server_is_given_up(sampled):
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
    assert isinstance(ended[0], InfrastructureError) and "3 servers were lost while sampling it" in str(ended[0])
    assert len(engine.started) >= 3


@pytest.mark.parametrize("finish", ["abort", "length"])
def test_request_without_tokens_on_every_server_is_given_up(sampled, finish):
    class Empty(SmallVllm):
        async def _generate(self, body):
            if body["request_id"].startswith("probe"):
                return await super()._generate(body)
            return small_vllm.JSONResponse(self._answer([], [], [], [], finish))

    engine = sampled(lambda number, folder: Empty(make_model(seed=77)))
    with pytest.raises(InfrastructureError, match="3 servers were lost while sampling it.*after 0 tokens"):
        engine.sample(requests(1))


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


def test_running_servers_are_used_and_stay_running(sampled):
    server = SmallVllm(make_model(seed=77))
    engine = sampled(servers=[server.url])
    assert engine.sample(requests(2))[1].ids == LocalEngine(make_model()).sample(requests(2))[1].ids
    engine.close()
    engine.close()
    assert server.alive() and not engine.started
    server.stop()


def test_invalid_arguments_raise_and_close_removes_the_weights(sampled, tmp_path):
    policy = sampled().policy
    with pytest.raises(InputError, match="either the addresses"):
        VllmServers(policy)
    with pytest.raises(InputError, match="either the addresses"):
        VllmServers(policy, servers=["http://127.0.0.1:9"], start_servers=1)
    with pytest.raises(InputError, match="write_config"):
        VllmServers(policy, start_servers=1)
    with pytest.raises(InfrastructureError, match="no server address"):
        VllmServers(policy, servers=["localhost"])
    engine = sampled(transport=FileTransport(tmp_path))
    engine.sample(requests(1))
    assert len(list(tmp_path.rglob("*.safetensors"))) == 1
    engine.close()
    assert not list(tmp_path.iterdir()), "the weights are removed"
