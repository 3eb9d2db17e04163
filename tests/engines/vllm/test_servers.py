"""VllmServers with small real servers that fail on demand: weight pushes, health checks, restarts, shutdown."""

import time

import pytest
import torch

from handaxe.core.errors import InfrastructureError, InputError, NonFiniteError, TrainingError
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.servers import VllmServers
from handaxe.engines.vllm.weight_transfer import FileTransport
from handaxe.testing import engine_streams
from handaxe.testing.engine_case import EngineCase

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")
from helpers import small_vllm
from helpers.sampled_engine import Sampled, make_model, requests

SmallVllm = small_vllm.SmallVllm


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


@pytest.mark.slow
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


ALTERNATION = ["/sleep", "/wake_up", "/start_weight_update", "/finish_weight_update", "/wake_up", "/weight_info"]


def test_colocated_server_sleeps_until_the_next_sampling(sampled):
    """Its weights are discarded and sent again, even if they are unchanged."""
    freed = []
    engine = sampled(free_trainer_memory=lambda: freed.append(set(engine.started[0].asleep)))
    want = LocalEngine(make_model()).sample(requests(3))
    for phase in range(2):
        assert [one.ids for one in engine.sample(requests(3))] == [one.ids for one in want]
        server = engine.started[0]
        assert not server.asleep and len(freed) == phase + 1
        engine.servers.sleep()
        engine.servers.sleep()
        assert server.asleep == {"weights", "kv_cache"}
    assert [path for path in server.paths if path in ALTERNATION] == [*ALTERNATION, *ALTERNATION, "/sleep"]
    assert "/pause" not in server.paths and freed[1] == {"weights", "kv_cache"}, "trainer memory is freed before waking"
    engine.sample(requests(1))
    assert len(engine.started) == 1, "the server was never lost"


def test_requests_of_a_sleeping_server_wait_and_continue(sampled):
    engine = sampled(lambda number, folder: SmallVllm(make_model(seed=77), pace=0.05), free_trainer_memory=list)
    stream = engine.stream()
    for request in requests(2):
        stream.submit(request)
    done = dict(stream.poll(0.0))
    (server,) = engine.started
    while len(server.waiting) < 2:
        time.sleep(0.01)
    engine.servers.sleep()
    assert len(server.waiting) == 2 and not done
    while len(stream):
        done.update(stream.poll(1.0))
    assert [done[k].ids for k in range(2)] == [one.ids for one in LocalEngine(make_model()).sample(requests(2))]
    assert len(engine.started) == 1


def test_server_that_fails_to_sleep_is_restarted(sampled):
    faults = iter([{"/sleep": 500}, {}])
    engine = sampled(
        lambda number, folder: SmallVllm(make_model(seed=77), faults=next(faults)), free_trainer_memory=list
    )
    engine.servers.sleep()
    assert len(engine.sample(requests(1))) == 1 and len(engine.started) == 2


def test_sleep_has_no_effect_on_servers_with_separate_memory(sampled):
    engine = sampled()
    engine.sample(requests(1))
    engine.servers.sleep()
    assert "/sleep" not in engine.started[0].paths and engine.started[0].asleep == set()


def test_close_wakes_a_colocated_server_that_keeps_running(sampled):
    server = SmallVllm(make_model(seed=77))
    engine = sampled(servers=[server.url], free_trainer_memory=list)
    engine.sample(requests(1))
    engine.servers.sleep()
    engine.close()
    assert not server.asleep and server.alive()
    server.stop()


def test_nonfinite_weights_of_the_policy_are_named_as_the_cause(sampled):
    engine = sampled()
    with torch.no_grad():
        engine.model.module.embed.weight.fill_(torch.nan)
    with pytest.raises(NonFiniteError, match="weights are damaged; load an earlier checkpoint"):
        engine.sample(requests(1))


def test_weight_info_without_a_version_restarts_the_server(sampled):
    class NoVersion(SmallVllm):
        def _control(self, path, query, body):
            answer = super()._control(path, query, body)
            return small_vllm.JSONResponse([]) if path == "/weight_info" else answer

    kinds = iter([NoVersion, SmallVllm])
    engine = sampled(lambda number, folder: next(kinds)(make_model(seed=77)))
    assert len(engine.sample(requests(1))) == 1 and len(engine.started) == 2


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
