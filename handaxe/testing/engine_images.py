"""Engine contract for a model with vision: images in sampling, measuring, prefix caches, gradients and checkpoints.

Run by `check_engine` if the model is a `core.model_api.VisionModel`; each check takes the case and raises
AssertionError. The rows show images at the start, in the middle and at the end, two neighbouring images, the same image
twice in succession, and pairs of rows that differ in an image of equal size alone.

Example: `check_engine(lambda: LocalEngine(model()), model, folder=folder)` with `TinyModel.new(TinyConfig(patch=8))`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from handaxe.core.batch import Batch
from handaxe.core.errors import InputError
from handaxe.core.images import Image, is_image_id, token_number
from handaxe.core.model_api import Model, VisionModel
from handaxe.core.protocols import Measures, Streams
from handaxe.core.records import Sampling
from handaxe.core.requests import Completion, Measure, Partial, Sample
from handaxe.testing.engine_case import (
    EngineCase,
    assert_close,
    assert_raises,
    assert_same_completion,
    compare_gradient,
    completed_batch,
    example_loss,
    finish_stream,
    oracle_loss,
    oracle_measures,
    train_steps,
)

__all__ = [
    "check_image_checkpoint",
    "check_image_gradient",
    "check_image_measures",
    "check_image_prefixes",
    "check_image_refusals",
    "check_image_sampling",
    "check_image_weights",
    "example_image_batch",
    "example_image_rows",
    "example_images",
]

TRAINED = 4
"""Trained tokens at the end of each row of the example batch."""
SIZES = ((16, 16), (16, 16), (24, 16), (16, 24))
"""Height and width in pixels of the example images; the first two have equal sizes."""


def example_images(seed: int = 0) -> tuple[Image, ...]:
    """Make images of random pixels in blocks, the first two of equal size."""
    draw = np.random.Generator(np.random.Philox(key=seed))
    blocks = [draw.integers(0, 256, (height // 4, width // 4, 3)) for height, width in SIZES]
    return tuple(Image.of(np.kron(block, np.ones((4, 4, 1))).astype(np.uint8)) for block in blocks)


def example_image_rows(model: Model) -> list[list[int]]:
    """Make prompts of text and image tokens; see the module."""
    assert isinstance(model, VisionModel)
    shown = [model.image_processor.token_ids(image) for image in example_images()]
    one, other = shown[:2]
    tall, wide = shown[2:]
    text = [t * 5 % model.vocab_size for t in range(1, 7)]
    rows = [
        [*text[:3], *one, *text[3:]],
        [*text[:3], *other, *text[3:]],
        [*one, *text],
        [*text[:2], *one, *other, text[2]],
        [*text[:2], *one, *one, text[2]],
        [*text[:2], *tall, text[2], *wide, text[3], *one, *text[4:]],
        [*text[:2], *wide],
        text,
    ]
    return [row for row in rows if len(row) + 2 * TRAINED < model.max_length]


def example_image_batch(model: Model) -> Batch:
    """Make a batch of `example_image_rows`, each followed by trained tokens; siblings share the longest prompt."""
    prompts = example_image_rows(model)
    prompts.append(prompts[0])
    tails = [[(11 * row + 3 * t) % model.vocab_size for t in range(TRAINED)] for row in range(len(prompts))]
    requests = [Sample(prompt, Sampling(), seed=0, stop=frozenset()) for prompt in prompts]
    zeros = [0.0] * TRAINED
    completions = [Completion(tail, zeros, zeros, [0] * TRAINED, "length") for tail in tails]
    batch = completed_batch(requests, completions)
    adv_BT = torch.where(batch.mask_BT, torch.linspace(-1.0, 1.0, batch.mask_BT.numel()).view(batch.mask_BT.shape), 0.0)
    counts = batch.denominators._replace(tokens=float(batch.mask_BT.sum()))
    return replace(batch, adv_BT=adv_BT, denominators=counts, images=example_images())


def check_image_measures(case: EngineCase) -> None:
    """Compare `forward` and `measure` with the oracle; image tokens have no log-prob."""
    engine, batch = case.make_engine(), example_image_batch(case.make_model())
    want = oracle_measures(case.make_model(), batch)
    for what, masked in (("", batch), (" of every token", replace(batch, mask_BT=batch.attend_BT))):
        got = engine.forward(masked, names=tuple(want))
        shown_BT = masked.mask_BT & ~is_image_id(batch.ids_BT)
        for name in want:
            expected = torch.where(shown_BT, want[name].detach(), 0.0)
            assert_close(f"forward's {name}{what} with images", got[name], expected, case.tolerance)
    alone = torch.cat([engine.forward(batch.rows(torch.tensor([row])))["logp"].sum(1) for row in range(len(batch))])
    assert_close("logp of rows alone", alone, engine.forward(batch)["logp"].sum(1), case.tolerance)
    measured = engine.forward(batch)["logp"].sum(1)
    surplus = replace(batch, images=(*example_images(seed=1), *reversed(batch.images)))
    reordered = engine.forward(surplus)["logp"].sum(1)
    assert_close("logp with more images in another order", reordered, measured, case.tolerance)
    if isinstance(engine, Measures):
        assert_close("measure's logp", _measured(engine, batch), measured, case.tolerance)
    one, other = measured[0], engine.forward(_retold(batch, 1, 0))["logp"].sum(1)[0]
    assert abs(float(one - other)) > 10 * case.tolerance, "two images of equal size give equal log-probs"


def check_image_sampling(case: EngineCase) -> None:
    """Compare log-probs of sampled tokens with the oracle; siblings, order and surplus of images change nothing."""
    for sampling in (Sampling(max_tokens=5), Sampling(temperature=0.7, max_tokens=5)):
        engine, model = case.make_engine(), case.make_model()
        requests = _requests(model, sampling)
        requests.append(requests[0]._replace(seed=99))
        completions = engine.sample(requests)
        batch = replace(completed_batch(requests, completions), images=example_images())
        want = oracle_measures(model, batch)["logp"]
        for row, (request, done) in enumerate(zip(requests, completions)):
            assert max(done.ids) < model.vocab_size, f"the policy sampled ids {done.ids}, beyond the vocabulary"
            span = slice(len(request.ids), len(request.ids) + len(done.ids))
            assert_close(
                f"logp sampled in row {row}", torch.tensor(done.logp), want[row, span].detach(), case.tolerance
            )
            alone = engine.sample([request._replace(images=(*example_images(seed=1), *request.images[::-1]))])[0]
            assert_same_completion(case, f"row {row} alone, with more images in another order,", alone, done)


def check_image_prefixes(case: EngineCase) -> None:
    """Compare completions after other conversations, later turns and interrupted turns with a fresh engine.

    Every prompt also follows each of its own prefixes, so that a cached prefix ends at every place of an image.
    """
    engine, fresh = case.make_engine(), case.make_engine()
    assert isinstance(engine, Streams)
    stream, model = engine.stream(), case.make_model()
    requests = _requests(model, Sampling(max_tokens=3))
    wanted = [fresh.sample([request])[0] for request in requests]
    for request, want in [*zip(requests, wanted), *zip(requests[::-1], wanted[::-1])]:
        ticket = stream.submit(request)
        got = finish_stream(stream)[ticket]
        assert_same_completion(case, "a prompt after others with other images", got, want)
        later = request._replace(ids=[*request.ids, *want.ids, *requests[0].ids])
        if len(later.ids) + 3 < model.max_length:
            ticket = stream.submit(later)
            done = finish_stream(stream)[ticket]
            assert_same_completion(case, "a later turn with a further image", done, fresh.sample([later])[0])
        part = Partial(want.ids[:1], want.logp[:1], want.behaviour_logp[:1], want.version[:1])
        ticket = stream.submit(request._replace(prefix=part))
        assert_same_completion(case, "a resumed turn", finish_stream(stream)[ticket], want)
    for request, want in list(zip(requests, wanted))[2:5]:
        for length in _cuts(model, request.ids):
            stream = engine.stream()
            stream.submit(request._replace(ids=request.ids[:length]))
            finish_stream(stream)
            ticket = stream.submit(request)
            got = finish_stream(stream)[ticket]
            assert_same_completion(case, f"a prompt after its first {length} tokens", got, want)


def check_image_gradient(case: EngineCase) -> None:
    """Compare the gradient with the oracle, whole and row by row; a trained tower has one, a frozen tower none."""
    model = case.make_model()
    batch = example_image_batch(model)
    value, gradient = oracle_loss(model, batch)
    rows = [batch.rows(torch.tensor([row])) for row in range(len(batch))]
    assert all(part.images == batch.images for part in rows), "rows of a batch lose its images"
    for name, parts in {"whole": [batch], "row by row": rows, "backwards": rows[::-1]}.items():
        engine = case.make_engine()
        got = sum(engine.forward_backward(part, example_loss).value.item() for part in parts)
        assert_close(f"the loss with images ({name})", torch.tensor(got), torch.tensor(value), case.tolerance)
        compare_gradient(case, engine, gradient, where=f" with images ({name})")
    assert isinstance(model, VisionModel)
    model.module.zero_grad()
    features = model.image_features(batch.images)
    reached = any(each.requires_grad for parts in features for each in parts)
    assert reached == model.trains_vision, f"trains_vision is {model.trains_vision}, and features carry {reached}"


def check_image_weights(case: EngineCase) -> None:
    """Compare completions after a step with a fresh sampling: no features of old weights."""
    engine, model = case.make_engine(), case.make_model()
    requests, batch = _requests(model, Sampling(max_tokens=5)), example_image_batch(model)
    assert isinstance(engine, Streams)
    stream = engine.stream()
    for request in requests:
        stream.submit(request)
    finish_stream(stream)
    before = engine.forward(batch)["logp"]
    train_steps(engine, [batch])
    assert not torch.equal(engine.forward(batch)["logp"], before), "a step left the log-probs as they were"
    tickets = [stream.submit(request) for request in requests]
    done = finish_stream(stream)
    completions = [done[ticket] for ticket in tickets]
    got = engine.forward(replace(completed_batch(requests, completions), images=batch.images))["logp"]
    for row, (request, one) in enumerate(zip(requests, completions)):
        assert set(one.version) == {1}, "a request after a step has tokens of the old version"
        span = slice(len(request.ids), len(request.ids) + len(one.ids))
        assert_close("logp after a step, with images", torch.tensor(one.logp), got[row, span], case.tolerance)


def check_image_refusals(case: EngineCase) -> None:
    """Check the errors of ids that name a missing image."""
    engine, model = case.make_engine(), case.make_model()
    request, batch = _requests(model, Sampling(max_tokens=2))[0], example_image_batch(model)
    lacking = request._replace(images=example_images()[1:])
    message = assert_raises(InputError, partial(engine.sample, [request, lacking]), "ids of a missing image")
    digest = example_images()[0].digest[:11]
    assert "request 1" in message and digest in message, f"the error must name request 1 and the image: {message}"
    empty = replace(batch, images=())
    assert_raises(InputError, partial(engine.forward, empty), "a batch of image tokens without images")
    partly = replace(batch, images=example_images()[1:])
    assert_raises(InputError, partial(engine.forward, partly), "a batch that lacks an image")


def check_image_checkpoint(case: EngineCase) -> None:
    """Compare an engine restored from a checkpoint, after steps with and without images, with the original."""
    first, second = case.make_engine(), case.make_engine()
    batch = example_image_batch(case.make_model())
    text = batch.rows(torch.tensor([row for row in range(len(batch)) if not is_image_id(batch.ids_BT[row]).any()]))
    train_steps(first, [text, batch])
    first.save(case.folder / "images")
    second.load(case.folder / "images")
    saved, loaded = (engine.forward(batch)["logp"] for engine in (first, second))
    assert_close("logp of images after loading", loaded, saved, case.tolerance)
    for engine in (first, second):
        train_steps(engine, [batch])
    one, other = (engine.forward(batch)["logp"] for engine in (first, second))
    assert_close("logp of images one step after loading", other, one, case.tolerance)


def _requests(model: Model, sampling: Sampling) -> list[Sample]:
    rows = example_image_rows(model)
    return [
        Sample(row, sampling, seed=seed, stop=frozenset(), images=example_images()) for seed, row in enumerate(rows)
    ]


def _measured(engine: Measures, batch: Batch) -> Tensor:
    """[B] sums of the trained tokens' log-probs by `measure`."""
    requests = [
        Measure(ids_T[attend_T].tolist(), int(attend_T.sum()) - TRAINED, temperature=hot or 1.0, images=batch.images)
        for ids_T, attend_T, hot in zip(batch.ids_BT, batch.attend_BT, batch.temperature_B.tolist())
    ]
    return torch.tensor([sum(one["logp"]) for one in engine.measure(requests)], dtype=torch.float64)


def _retold(batch: Batch, source: int, target: int) -> Batch:
    """The batch with the image tokens of a row written into another row of equal form."""
    ids_BT = batch.ids_BT.clone()
    at_T = is_image_id(ids_BT[target])
    ids_BT[target, at_T] = ids_BT[source, at_T]
    return replace(batch, ids_BT=ids_BT)


def _cuts(model: Model, ids: Sequence[int]) -> list[int]:
    """Lengths of prefixes that the model samples after; no cut inside an image that is read whole."""
    assert isinstance(model, VisionModel)
    whole = model.whole_images
    inside = {at for at in range(len(ids)) if whole and is_image_id(ids[at]) and token_number(ids[at]) > 0}
    return [length for length in range(1, len(ids)) if length not in inside]
