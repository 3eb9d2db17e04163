"""Tests that the slot cache returns the logits of the uncached forward, in each batch."""

import random
from dataclasses import replace

import pytest
import torch
from helpers.image_records import noise
from helpers.vision_policy import vision_model

from handaxe.core.model_api import Copying, Reading, SlotCache
from handaxe.models.tiny import TinyConfig, TinyModel

pytestmark = pytest.mark.exact

CONFIG = TinyConfig(vocab_size=50, width=32, layers=2, heads=2, max_length=200)


@pytest.fixture(params=[None, 1], ids=["as many", "grouped"])
def kv_heads(request):
    """Key-value heads of the two query heads of CONFIG."""
    return request.param


def make_model(dtype=torch.float32, config=CONFIG, kv_heads=None):
    config = replace(config, kv_heads=kv_heads or config.kv_heads)
    return TinyModel(TinyModel.new(config, seed=1).module.to(dtype), pad_id=0)


def reference_logits(model, ids):
    """Compute the logits [T, V] of a row by the forward of training."""
    ids_1T = torch.tensor([ids])
    return model.head(model.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool)))[0]


def write(cache, tokens):
    """Write the last token of each {slot: row}; position -1 for other slots."""
    slots = range(max(tokens) + 1)
    ids = [tokens[s][-1:] if s in tokens else [0] for s in slots]
    previous = [tokens[s][-2] if s in tokens else -1 for s in slots]
    return cache.write(ids, previous, [len(tokens[s]) - 1 if s in tokens else -1 for s in slots])


@torch.inference_mode()
def test_read_and_write_return_the_logits_of_the_forward(kv_heads):
    model = make_model(torch.float64, kv_heads=kv_heads)
    cache = model.slots()
    rows = {0: [1, 2, 3], 2: [5, 6, 7, 8, 9, 10] * 25, 9: [4]}  # the second row is read in two parts
    cache.reserve(10, 160)
    read_RV = cache.read([Reading(slot, ids, 0) for slot, ids in rows.items()], [])
    for logits_V, ids in zip(read_RV, rows.values()):
        torch.testing.assert_close(logits_V, reference_logits(model, ids)[-1], rtol=0, atol=1e-12)
    for step in range(4):
        rows = {slot: [*ids, slot + step] for slot, ids in rows.items()}
        logits_SV = write(cache, rows)
        for slot, ids in rows.items():
            torch.testing.assert_close(logits_SV[slot], reference_logits(model, ids)[-1], rtol=0, atol=1e-12)


@torch.inference_mode()
def test_suffix_is_read_after_copied_moved_and_resized_prefixes(kv_heads):
    model, row = make_model(torch.float64, kv_heads=kv_heads), [3, 1, 4, 1, 5, 9, 2, 6]
    cache = model.slots()
    cache.reserve(3, 8)
    cache.read([Reading(0, row[:5], 0)], [])
    parts = cache.take(0, 0, 5)
    cache.put(1, 0, parts)
    cache.reserve(9, 150)  # grows in both directions
    other = [*row[:3], 7, 7]
    both_RV = cache.read([Reading(1, row, 5), Reading(8, other, 3)], [Copying(1, 8, 0, 3)])
    for logits_V, ids in zip(both_RV, (row, other)):
        torch.testing.assert_close(logits_V, reference_logits(model, ids)[-1], rtol=0, atol=1e-12)
    copied_RV = cache.read([Reading(0, row[:6], 5), Reading(2, row[:7], 6)], [Copying(0, 2, 0, 6)])
    torch.testing.assert_close(copied_RV[1], reference_logits(model, row[:7])[-1], rtol=0, atol=1e-12)


@torch.inference_mode()
def test_cache_step_writes_slots_and_reads_rows(kv_heads):
    model = make_model(torch.float64, kv_heads=kv_heads)
    row = [5, 6, 7, 8, 9]
    other = [1, 2, 3]
    cache = model.slots()
    cache.reserve(8, 16)
    cache.read([Reading(0, row[:4], 0)], [])
    written_SV, read_RV = cache.step([[row[4]]], [row[3]], [4], [Reading(3, other, 0)], [])
    for logits_V, ids in zip((written_SV[0], read_RV[0]), (row, other)):
        torch.testing.assert_close(logits_V, reference_logits(model, ids)[-1], rtol=0, atol=1e-12)
    assert cache.step([], [], [], [], []) == (None, None)


@torch.inference_mode()
def test_write_does_not_change_skipped_slots():
    model = make_model()
    cache = model.slots()
    cache.reserve(2, 64)
    cache.read([Reading(0, [1] * 64, 0), Reading(1, [2, 3], 0)], [])
    previous = cache.take(0, 0, 64)
    write(cache, {1: [2, 3, 4]})
    assert all(torch.equal(a, b) for a, b in zip(previous, cache.take(0, 0, 64)))


NARROW = TinyConfig(vocab_size=30, width=8, layers=1, heads=2, max_length=200)
GROUPED = TinyConfig(vocab_size=30, width=32, layers=2, heads=8, max_length=200, kv_heads=2)
SHAPES = [CONFIG, NARROW, TinyConfig(layers=1, max_length=200), GROUPED]


def random_batches(model, rng, rows, rounds):
    """Process rows in random batches: prefill random parts, decode token by token; return (row, length, logits)."""
    results = []
    for _ in range(rounds):
        chosen = rng.sample(range(len(rows)), rng.randrange(1, len(rows) + 1))
        cache = model.slots()
        cache.reserve(len(chosen), 64)
        cache.reserve(len(chosen), 101)
        lengths = {slot: rng.randrange(1, len(rows[row]) + 1) for slot, row in enumerate(chosen)}  # tokens in the cache
        read_RV = cache.read([Reading(slot, rows[row][: lengths[slot]], 0) for slot, row in enumerate(chosen)], [])
        results += [(row, lengths[slot], read_RV[slot]) for slot, row in enumerate(chosen)]
        while running := [slot for slot in lengths if lengths[slot] < len(rows[chosen[slot]])]:
            subset = rng.sample(running, rng.randrange(1, len(running) + 1))
            if rng.random() < 0.2:
                stop = {slot: rng.randrange(lengths[slot] + 1, len(rows[chosen[slot]]) + 1) for slot in subset}
                read_RV = cache.read([Reading(s, rows[chosen[s]][: stop[s]], lengths[s]) for s in subset], [])
                results += [(chosen[s], stop[s], read_RV[i]) for i, s in enumerate(subset)]
                lengths |= stop
            else:
                logits_SV = write(cache, {s: rows[chosen[s]][: lengths[s] + 1] for s in subset})
                lengths |= {slot: lengths[slot] + 1 for slot in subset}
                results += [(chosen[s], lengths[s], logits_SV[s]) for s in subset]
    return results


def random_rows(config, rng, count):
    return [[rng.randrange(config.vocab_size) for _ in range(rng.choice([3, 17, 40, 100]))] for _ in range(count)]


@pytest.mark.parametrize("config", SHAPES)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@torch.inference_mode()
def test_logits_are_independent_of_the_batch_up_to_rounding(config, dtype, tolerance):
    """Differences are relative to the largest logit."""
    rng = random.Random(0)
    model, rows = make_model(dtype, config=config), random_rows(config, rng, 18)
    first, compared = {}, 0
    for row, length, logits_V in random_batches(model, rng, rows, 8):
        compared += (row, length) in first
        want_V = first.setdefault((row, length), logits_V)
        torch.testing.assert_close(logits_V, want_V, rtol=0, atol=tolerance * float(want_V.abs().max()))
    assert compared > 100


@pytest.mark.parametrize("config", SHAPES)
@torch.inference_mode()
def test_equal_calls_give_bitwise_equal_float32_logits(config):
    rows = random_rows(config, random.Random(0), 9)
    first, second = (random_batches(make_model(config=config), random.Random(1), rows, 4) for _ in range(2))
    assert [each[:2] for each in first] == [each[:2] for each in second] and len(first) > 30
    assert all(torch.equal(a, b) for (*_, a), (*_, b) in zip(first, second))


def test_cache_implements_slot_cache_and_counts_bytes():
    cache = make_model().slots()
    assert cache.token_bytes == 2 * 2 * 32 * 4
    assert make_model(kv_heads=1).slots().token_bytes == cache.token_bytes / 2
    assert {name for name in vars(SlotCache) if not name.startswith("_")} <= set(dir(cache))


# --- images --------------------------------------------------------------------------------------------------------


def image_logits(model, row, images):
    ids_BT = torch.tensor([row])
    return model.head(model.hidden(ids_BT, torch.ones_like(ids_BT).bool(), images))[0]


@pytest.mark.exact
@torch.inference_mode()
def test_row_with_images_is_read_from_every_start():  # traps 7, 8 and 12
    model = vision_model()
    one = noise(0, 16, 16)
    other = noise(1, 16, 16)
    images = [noise(2), other, one]
    row = [*one.ids(4), *other.ids(4), 5, *one.ids(4), *one.ids(4), 6, 7]
    want = image_logits(model, row, images)
    for start in range(1, len(row)):
        cache = model.slots()
        cache.reserve(2, 40)
        first = cache.read([Reading(1, row[:start], 0, images)], [])
        rest = cache.read([Reading(1, row, start, images)], [])
        torch.testing.assert_close(torch.cat([first, rest]), want[[start - 1, -1]], rtol=0, atol=1e-10)


@torch.inference_mode()
def test_token_after_an_image_is_written():
    model, image = vision_model(), noise(0, 16, 16)
    row = [3, *image.ids(4), 5, 6]
    cache = model.slots()
    cache.reserve(1, 40)
    cache.read([Reading(0, row[:5], 0, [image])], [])
    written = [cache.write([[row[at]]], [row[at - 1]], [at])[0] for at in (5, 6)]
    torch.testing.assert_close(torch.stack(written), image_logits(model, row, [image])[5:], rtol=0, atol=1e-10)


@torch.inference_mode()
def test_rows_of_several_images_share_a_read():
    model, images = vision_model(), [noise(seed, 16, 16) for seed in range(3)]
    rows = [[1, *image.ids(4), 2] for image in images] + [[4, 5, 6]]
    cache = model.slots()
    cache.reserve(4, 40)
    read_RV = cache.read([Reading(slot, row, 0, images) for slot, row in enumerate(rows)], [])
    want = torch.stack([image_logits(model, row, images)[-1] for row in rows])
    torch.testing.assert_close(read_RV, want, rtol=0, atol=1e-10)
