"""Routing of turns and interruption in VllmStream; test_servers.py has further tests with the same small servers."""

import time
from dataclasses import replace

import pytest
import torch
from helpers.image_records import noise
from helpers.vision_policy import CONFIG as VISION
from helpers.vision_policy import vision_model

from handaxe.core.errors import InputError, TrainingError
from handaxe.core.images import Image
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.weight_transfer import IMAGE_SIDE

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")
from helpers import sampled_engine
from helpers.small_vllm import SmallVllm

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


def test_image_tokens_are_refused_for_a_model_of_text(engine):
    image = noise()
    with pytest.raises(InputError, match="request 0 .* it holds image tokens, and the model reads no images"):
        engine.stream().submit(REQUEST._replace(ids=[1, *image.ids(2)], images=(image,)))


# --- images ----------------------------------------------------------------------------------------------------------

A, B = noise(0, 24, 16), noise(1, 16, 24)


@pytest.fixture
def seeing(sampled):
    """Makes a policy with vision, sampled by servers."""

    made = []

    def make(count=1, **options):
        model = lambda: vision_model(config=replace(VISION, layers=1))  # noqa: E731
        launch = lambda number, folder: SmallVllm(model(), pace=0.001, **options)  # noqa: E731
        made.append(sampled_engine.Sampled(model(), launch, count))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def looking(engine, *images, seed=1, text=(72, 105), **fields):
    ids = list(text)
    for image in images:
        ids += [*engine.model.image_processor.token_ids(image), 46]
    return Sample(ids, Sampling(max_tokens=6), seed, frozenset(), images=images)._replace(**fields)


def kept_bytes(engine):
    """Encoded images that each server received, without those of probes."""
    return [[data for data in server.image_bytes if Image.read(data).width != IMAGE_SIDE] for server in engine.started]


def test_samples_with_images_equal_the_local_engine(seeing):
    engine = seeing()
    requests = [looking(engine, A, B), looking(engine, B, A), looking(engine, A, A, seed=2), looking(engine)]
    want = LocalEngine(engine.model).sample(requests)
    for got, one in zip(engine.sample(requests), want, strict=True):
        assert got.ids == one.ids and got.logp == pytest.approx(one.logp, abs=1e-6)


def test_partial_turn_after_an_image_is_continued(seeing):
    engine = seeing()
    request = looking(engine, A)
    whole = engine.sample([request])[0]
    part = Partial(whole.ids[:2], whole.logp[:2], whole.behaviour_logp[:2], whole.version[:2])
    assert engine.sample([request._replace(prefix=part)])[0].ids == whole.ids


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_bytes_of_an_image_are_sent_once_to_a_server_and_again_after_a_push(seeing, delay):  # trap 27
    engine = seeing()
    engine.started[0].image_delay = delay
    siblings = [looking(engine, A, seed=seed) for seed in range(16)]
    first = engine.sample(siblings)
    assert kept_bytes(engine) == [[A.data]]
    engine.sample([looking(engine, A, B, seed=7)])
    assert kept_bytes(engine) == [[A.data, B.data]]
    with torch.no_grad():
        next(iter(engine.model.module.parameters())).mul_(1.01)
    again = engine.sample(siblings)
    assert kept_bytes(engine) == [[A.data, B.data, A.data]]
    assert len(engine.started) == 1 and len(first) == len(again) == 16


def test_restarted_server_gets_the_bytes_again(seeing):
    engine = seeing()
    engine.sample([looking(engine, A)])
    engine.started[0].stop()
    want = LocalEngine(engine.model).sample([looking(engine, A)])[0]
    assert engine.sample([looking(engine, A)])[0].ids == want.ids
    assert kept_bytes(engine) == [[A.data], [A.data]]


def test_server_that_lost_an_image_gets_all_bytes_once_more(seeing):
    engine = seeing()
    want = engine.sample([looking(engine, A, B)])[0]
    engine.started[0].images.clear()
    assert engine.sample([looking(engine, A, B)])[0].ids == want.ids
    assert kept_bytes(engine) == [[A.data, B.data] * 2] and len(engine.started) == 1


def test_server_with_other_processor_settings_is_named(seeing):
    engine = seeing()
    engine.servers.push()
    engine.started[0].resized = 8
    stream = engine.stream()
    stream.submit(looking(engine, A))
    with pytest.raises(
        TrainingError, match="request 0: the server .* makes 1 tokens of an image .*, the trainer 6: .*mm-pr"
    ):
        finish(stream)
    assert len(stream) == 0 and len(engine.started) == 1


def test_processor_settings_are_compared_at_the_push(seeing):
    engine = seeing()
    engine.started[0].resized = 8
    with pytest.raises(TrainingError, match="makes 1 tokens of an image of a prompt, the trainer 64"):
        engine.servers.push()


def test_probe_with_an_image_detects_a_stale_vision_tower(seeing):
    engine = seeing(stale="vision")
    metrics = engine.servers.push()
    assert 0 <= metrics["push_gap"] < 1e-5 and 0 <= metrics["push_image_gap"] < 1e-5
    with torch.no_grad():
        for parameter in engine.model.module.vision.parameters():
            parameter.mul_(-2)
    with pytest.raises(TrainingError, match="gap of 16 tokens after an image is .* above max_gap"):
        engine.servers.push()
    assert engine.servers.metrics["push_gap"] < 1e-5 < 1e-3 < engine.servers.metrics["push_image_gap"]


def test_rows_that_differ_in_an_image_have_different_prefixes(seeing, monkeypatch):
    monkeypatch.setattr("handaxe.engines.vllm.prefix_router.BLOCK", 2)
    engine = seeing(count=2)
    engine.sample([looking(engine, A, text=(72,)), looking(engine, B, text=(72,))])
    assert sorted(kept_bytes(engine)) == sorted([[A.data], [B.data]]), "one image to each server"
    engine.sample([looking(engine, B, seed=3, text=(72,)), looking(engine, A, seed=3, text=(72,))])
    assert sum(map(len, kept_bytes(engine))) == 2, "each goes to the server that has its image"
