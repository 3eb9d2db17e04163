"""A real vLLM server samples the tokens of LocalEngine, and takes new weights within a turn."""

import pytest
import torch
from helpers import vllm_case as case

from handaxe.core.errors import InputError, TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.vllm_http import VllmHttp
from handaxe.testing.engine_contract import check_engine

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module")
def fleet():
    with case.started(start_servers=1) as fleet:
        yield fleet


def logp(model, ids, start):
    """Log-probs of ids[start:] by one forward pass."""
    with torch.no_grad():
        rows = torch.tensor([ids])
        logits_TV = model.head(model.hidden(rows, torch.ones_like(rows, dtype=torch.bool)))[0].double()
    return logits_TV.log_softmax(-1)[range(start - 1, len(ids) - 1), ids[start:]]


def test_completions_equal_those_of_local_engine(fleet):
    rules = [(1.0, 1.0, 0), (0.7, 0.8, 5), (0.0, 1.0, 0), (1.3, 0.5, 0), (1.0, 1.0, 3)]
    requests = [
        Sample(
            [1 + n, 2, 3],
            Sampling(*rule, max_tokens=40),
            2**80 + n,
            frozenset({7, 17, 27}),
            header=frozenset({9, 19, 29, 39}),
        )
        for n, rule in enumerate(rules * 3)
    ]
    got = case.Served(fleet, case.make_model()).sample(requests)
    want = LocalEngine(case.make_model()).sample(requests)
    assert {one.finish for one in want} >= {"stop", "header"}, "the example has both finish reasons"
    for one, other in zip(got, want):
        assert (one.ids, one.finish, one.version) == (other.ids, other.finish, other.version)
        assert one.logp == pytest.approx(other.logp, abs=1e-5)
        assert one.behaviour_logp == pytest.approx(other.behaviour_logp, abs=1e-5)
    assert 0 <= fleet.servers.metrics["push_gap"] < 1e-4


def test_vllm_engine_passes_the_engine_contract(fleet, tmp_path):
    names = check_engine(
        lambda: case.Served(fleet, case.make_model(), reference=True),
        case.make_model,
        folder=tmp_path,
        tolerance=1e-5,
        gradient=lambda engine: {k: p.grad for k, p in engine.model.module.named_parameters() if p.grad is not None},
        weights=lambda engine: dict(engine.model.module.named_parameters()),
        reference=True,
    )
    assert len(names) == 19


def sample_over_update(fleet, requests, wait):
    """Completions of turns that run for `wait` seconds before weights of version 1 arrive."""
    engine = case.Served(fleet, case.make_model())
    stream = engine.stream()
    fleet.engine = engine
    fleet.servers.push()
    for request in requests:
        stream.submit(request)
    done = dict(stream.poll(wait))
    with torch.no_grad():
        for parameter, other in zip(engine.model.module.parameters(), case.make_model(seed=5).module.parameters()):
            parameter.copy_(other)
    engine.version = 1
    while len(stream):
        done.update(stream.poll(1.0))
    return done


def mid_turn_gap(fleet):
    """The largest gap between recorded log-probs and a forward pass under the recorded versions, over turns with a
    change of weights."""
    old, new = case.make_model(), case.make_model(seed=5)
    requests = [Sample([1 + n, 2, 3], Sampling(max_tokens=200), n, frozenset()) for n in range(8)]
    for power in range(16):  # until some turns have started and not ended; a busy machine is slower
        wait = 0.2 * 1.5**power
        done = sample_over_update(fleet, requests, wait)
        both = [n for n in done if set(done[n].version) == {0, 1}]
        if both:
            break
    assert both, f"no turn was running when the weights arrived: {[set(done[n].version) for n in done]}"
    gaps = []
    for n in both:
        ids, start = [*requests[n].ids, *done[n].ids], len(requests[n].ids)
        version = torch.tensor(done[n].version)
        assert version.tolist() == sorted(version.tolist())
        want = torch.where(version == 0, logp(old, ids, start), logp(new, ids, start))
        gaps.append(float((torch.tensor(done[n].logp) - want).abs().max()))
    return max(gaps)


def test_new_weights_within_a_turn_apply_from_the_next_token_on(fleet):
    assert mid_turn_gap(fleet) < 1e-4


def test_new_weights_with_stale_caches_give_wrong_log_probs(fleet, monkeypatch):
    post = VllmHttp.post

    def keeping(self, path, body=None, *, query=None, timeout=None):
        query = {**query, "clear_cache": "false"} if path == "/pause" else query
        return post(self, path, body, query=query, timeout=timeout)

    monkeypatch.setattr(VllmHttp, "post", keeping)
    assert mid_turn_gap(fleet) > 1e-3


def test_interrupted_turn_resumes_with_equal_tokens(fleet):
    engine = case.Served(fleet, case.make_model())
    request = Sample([4, 2, 3], Sampling(max_tokens=150), 11, frozenset())
    want = engine.sample([request])[0]
    stream, partial = engine.stream(), None
    for _ in range(3):
        ticket = stream.submit(request._replace(prefix=partial))
        if done := stream.poll(0.1):
            break
        partial = stream.interrupt(ticket)
        assert partial.ids == want.ids[: len(partial.ids)]
    else:
        stream.submit(request._replace(prefix=partial))
        done = []
    while len(stream):
        done += stream.poll(1.0)
    assert done[0][1].ids == want.ids
    assert done[0][1].logp == pytest.approx(want.logp, abs=1e-5)


def test_id_outside_the_vocabulary_is_never_sent(fleet):
    engine = case.Served(fleet, case.make_model())
    request = Sample([case.VOCABULARY], Sampling(max_tokens=4), 0, frozenset())
    with pytest.raises(InputError, match="an id outside"):
        engine.sample([request])
    assert len(engine.sample([request._replace(ids=[1])])[0].ids) == 4, "the server is healthy"


def test_request_refused_by_the_server_raises_input_error(fleet, monkeypatch):
    engine = case.Served(fleet, case.make_model())
    longer = fleet.servers.policy._replace(max_length=10 * case.MAX_LENGTH)
    monkeypatch.setattr(fleet.servers, "policy", longer)
    request = Sample([1] * (2 * case.MAX_LENGTH), Sampling(max_tokens=4), 0, frozenset())
    with pytest.raises(InputError, match=r"request 0.*HTTP 400"):
        engine.sample([request])
    assert len(engine.sample([request._replace(ids=[1])])[0].ids) == 4, "the server is healthy"


def test_requests_without_handaxe_arguments_are_sampled_by_vllm(fleet):
    greedy = Sample([1, 2, 3], Sampling(temperature=0.0, max_tokens=5), 0, frozenset())
    sampled = case.Served(fleet, case.make_model()).sample([greedy])[0].ids  # pushes the weights to the server
    body = {"token_ids": [1, 2, 3], "sampling_params": {"max_tokens": 5, "temperature": 0.0, "ignore_eos": True}}
    plain = fleet.servers.states.servers[0].http.post("/inference/v1/generate", body)["choices"][0]["token_ids"]
    assert plain == sampled == LocalEngine(case.make_model()).sample([greedy])[0].ids


# Last test of this file, because it loses the server and starting another one is slow.
def test_probe_detects_a_stale_tensor(fleet, monkeypatch):
    prepare = fleet.servers._transport.prepare
    stale = "model.embed_tokens.weight"
    first = case.make_model().module.state_dict()[stale]
    engine = case.Served(fleet, case.make_model(seed=5))
    monkeypatch.setattr(fleet.servers._transport, "prepare", lambda tensors: prepare({**tensors, stale: first}))
    with pytest.raises(TrainingError, match="differ from the engine's"):
        engine.sample([Sample([1], Sampling(max_tokens=4), 0, frozenset())])
    assert fleet.servers.metrics["push_gap"] > 1e-2
