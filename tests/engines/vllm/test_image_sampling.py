"""Images through a real vLLM server: a small Idefics3, whose processor runs without torchvision."""

import pytest
import torch
from helpers import vllm_case as case
from helpers.image_records import noise

from handaxe.core.errors import TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Measure, Sample
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm import vllm_http

pytestmark = pytest.mark.vllm
A, B = noise(0, 100, 70), noise(1, 60, 60)


@pytest.fixture(scope="module")
def fleet():
    with case.started(model=case.make_vision_model(), start_servers=1) as fleet:
        yield fleet


@pytest.fixture
def bodies(monkeypatch):
    """For each sampling request sent, in order: whether its parts have bytes. Without probes."""
    sent = []
    exchange = vllm_http.VllmHttp._exchange

    async def record(self, method, path, body, *others):
        if body and "content_parts" in body and not body["request_id"].startswith("probe"):
            sent.append([part["url"] is not None for part in body["content_parts"]])
        return await exchange(self, method, path, body, *others)

    monkeypatch.setattr(vllm_http.VllmHttp, "_exchange", record)
    return sent


def request(model, *images, seed=1, max_tokens=12):
    tokenizer, processor = model.image_processor.tokenizer, model.image_processor
    ids = tokenizer("<|im_start|>user\nLook: ", add_special_tokens=False)["input_ids"]
    for image in images:
        ids = [*ids, *processor.token_ids(image), *tokenizer(" and ", add_special_tokens=False)["input_ids"]]
    return Sample(ids, Sampling(max_tokens=max_tokens), seed, frozenset(), images=images)


def logp_rows(engine, rows):
    measures = [Measure([*one.ids, *got.ids], len(one.ids), names=("logp",), images=one.images) for one, got in rows]
    return [found["logp"] for found in engine.measure(measures)]


def gap(engine, request, completion):
    (logp,) = logp_rows(engine, [(request, completion)])
    return max(abs(a - b) for a, b in zip(logp, completion.logp, strict=True))


def test_samples_equal_the_local_engine_and_bytes_are_sent_once(fleet, bodies):
    model = case.make_vision_model()
    engine = case.Served(fleet, model)
    siblings = [request(model, A, B, seed=seed) for seed in range(16)]
    done = engine.sample(siblings)
    want = LocalEngine(model).sample(siblings)
    assert fleet.servers.metrics["push_image_gap"] < 1e-3
    assert max(gap(engine, one, got) for one, got in zip(siblings, done)) < 1e-3
    assert sum(got.ids == local.ids for got, local in zip(done, want)) >= 15, "up to the rounding of a sum"
    assert sum(sum(parts) for parts in bodies) == 2, "each image once"
    other = engine.sample([request(model, B, A)])[0]
    assert other.logp[0] != done[1].logp[0] and sum(sum(parts) for parts in bodies) == 2
    text = request(model)
    assert gap(engine, text, engine.sample([text])[0]) < 1e-3


def test_request_succeeds_after_a_push_with_the_features_of_the_new_tower(fleet, bodies):  # trap 28
    model = case.make_vision_model()
    engine = case.Served(fleet, model)
    asked = request(model, A)
    engine.sample([asked])
    with torch.no_grad():
        for name, parameter in model.module.named_parameters():
            if "vision_model" in name or "connector" in name:
                parameter.mul_(-2)
    after = engine.sample([asked])[0]
    assert gap(engine, asked, after) < 1e-3
    assert gap(LocalEngine(case.make_vision_model()), asked, after) > 1e-2, "a stale tower shows"
    assert [sum(parts) for parts in bodies] == [1, 1], "bytes are sent again after the push"


def test_running_turns_continue_under_new_weights(fleet):
    model, before = case.make_vision_model(), case.make_vision_model()
    engine = case.Served(fleet, model)
    asked = [request(model, A, B, seed=seed, max_tokens=180) for seed in range(4)]
    stream, done = engine.stream(), {}
    for one in asked:
        stream.submit(one)
    done.update(stream.poll(0.3))
    with torch.no_grad():
        for parameter in model.module.model.connector.parameters():
            parameter.mul_(-2)
    engine.version += 1
    while len(stream):
        done.update(stream.poll(5.0))
    rows = [(one, done[ticket]) for ticket, one in enumerate(asked)]
    old, new = (logp_rows(LocalEngine(policy), rows) for policy in (before, model))
    for (_, got), first, second in zip(rows, old, new):
        want = [(first, second)[version][at] for at, version in enumerate(got.version)]
        assert max(abs(a - b) for a, b in zip(got.logp, want, strict=True)) < 1e-3
        assert sorted(got.version) == got.version
    assert fleet.servers.states.servers[0].generation == 0


def test_server_that_lost_an_image_gets_all_bytes_once_more(fleet, bodies):
    model = case.make_vision_model()
    engine = case.Served(fleet, model)
    asked = request(model, A, B)
    want = engine.sample([asked])[0]
    http = fleet.servers.states.servers[0].http
    http.post("/pause", query={"mode": "keep", "clear_cache": "true"})
    http.post("/resume")
    assert engine.sample([asked])[0].ids == want.ids
    assert bodies == [[True, True], [False, False], [True, True]]


def test_other_processor_settings_are_named(fleet):
    model = fleet.servers.policy.model
    engine, settings = case.Served(fleet, model), model.image_processor.processor.image_processor
    engine.sample([request(model, A)])  # the probe of a push would find it, too, and the server would be restarted
    settings.size = {"longest_edge": 64}
    model.image_processor._forget()
    try:
        with pytest.raises(TrainingError, match="makes 34 tokens of an image of a prompt, the trainer 7: .*processor"):
            engine.sample([request(model, A)])
    finally:
        settings.size = {"longest_edge": 128}
        model.image_processor._forget()
    assert engine.sample([request(model, A)])[0].ids, "the server is not lost"


def test_ranks_sample_images_on_a_server(fleet, bodies):
    (server,) = fleet.servers.states.servers
    with ClusterEngine(case.make_vision_model, trainers=1, servers=[server.url], timeout=300.0) as engine:
        asked = request(case.make_vision_model(), A, B)
        (got,) = engine.sample([asked])
        assert gap(engine, asked, got) < 1e-3 and sum(map(sum, bodies)) == 2
        assert engine._servers.metrics["push_image_gap"] < 1e-3
