"""Rows in slots: what the whole forward says, whatever is computed beside."""

import random

import pytest
import torch

from handaxe.core.model_api import Copying, Reading, SlotCache
from handaxe.models.tiny import TinyConfig, TinyModel

pytestmark = pytest.mark.exact

CONFIG = TinyConfig(vocab_size=50, width=32, layers=2, heads=2, max_length=200)


def model(dtype=torch.float32, config=CONFIG):
    return TinyModel(TinyModel.new(config, seed=1).module.to(dtype), pad_id=0)


def whole(made, ids):
    """Logits [T, V] of one row, by the forward that trains."""
    ids_1T = torch.tensor([ids])
    return made.head(made.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool)))[0]


def write(cache, tokens):
    """One more token for each {slot: row}, -1 elsewhere."""
    span = range(max(tokens) + 1)
    ids = [tokens[s][-1:] if s in tokens else [0] for s in span]
    before = [tokens[s][-2] if s in tokens else -1 for s in span]
    return cache.write(ids, before, [len(tokens[s]) - 1 if s in tokens else -1 for s in span])


@torch.inference_mode()
def test_reading_and_writing_say_what_the_forward_says():
    made = model(torch.float64)
    cache = made.slots()
    rows = {0: [1, 2, 3], 2: [5, 6, 7, 8, 9, 10] * 25, 9: [4]}  # the long one in two parts
    cache.reserve(10, 160)
    read_RV = cache.read([Reading(slot, ids, 0) for slot, ids in rows.items()], [])
    for logits_V, ids in zip(read_RV, rows.values()):
        torch.testing.assert_close(logits_V, whole(made, ids)[-1], rtol=0, atol=1e-12)
    for step in range(4):
        rows = {slot: [*ids, slot + step] for slot, ids in rows.items()}
        logits_SV = write(cache, rows)
        for slot, ids in rows.items():
            torch.testing.assert_close(logits_SV[slot], whole(made, ids)[-1], rtol=0, atol=1e-12)


@torch.inference_mode()
def test_a_suffix_after_what_is_there_copied_moved_or_grown():
    made, row = model(torch.float64), [3, 1, 4, 1, 5, 9, 2, 6]
    cache = made.slots()
    cache.reserve(3, 8)
    cache.read([Reading(0, row[:5], 0)], [])
    parts = cache.take(0, 0, 5)
    cache.put(1, 0, parts)
    cache.reserve(9, 150)  # grows in both directions
    other = [*row[:3], 7, 7]
    both_RV = cache.read([Reading(1, row, 5), Reading(8, other, 3)], [Copying(1, 8, 0, 3)])
    for logits_V, ids in zip(both_RV, (row, other)):
        torch.testing.assert_close(logits_V, whole(made, ids)[-1], rtol=0, atol=1e-12)
    again_RV = cache.read([Reading(0, row[:6], 5), Reading(2, row[:7], 6)], [Copying(0, 2, 0, 6)])
    torch.testing.assert_close(again_RV[1], whole(made, row[:7])[-1], rtol=0, atol=1e-12)


@torch.inference_mode()
def test_a_step_writes_and_reads():
    made, row, other = model(torch.float64), [5, 6, 7, 8, 9], [1, 2, 3]
    cache = made.slots()
    cache.reserve(8, 16)
    cache.read([Reading(0, row[:4], 0)], [])
    written_SV, read_RV = cache.step([[row[4]]], [row[3]], [4], [Reading(3, other, 0)], [])
    for logits_V, ids in zip((written_SV[0], read_RV[0]), (row, other)):
        torch.testing.assert_close(logits_V, whole(made, ids)[-1], rtol=0, atol=1e-12)
    assert cache.step([], [], [], [], []) == (None, None)


@torch.inference_mode()
def test_a_slot_that_is_left_alone_stays_as_it_is():
    made = model()
    cache = made.slots()
    cache.reserve(2, 64)
    cache.read([Reading(0, [1] * 64, 0), Reading(1, [2, 3], 0)], [])
    before = cache.take(0, 0, 64)
    write(cache, {1: [2, 3, 4]})
    assert all(torch.equal(a, b) for a, b in zip(before, cache.take(0, 0, 64)))


NARROW = TinyConfig(vocab_size=30, width=8, layers=1, heads=2, max_length=200)
SHAPES = [CONFIG, NARROW, TinyConfig(layers=1, max_length=200)]


def random_company(made, draw, rows, rounds):
    """(row, how much of it is there, logits) of rows of random lengths, read in random parts and written token by token
    in random company."""
    found = []
    for _ in range(rounds):
        chosen = draw.sample(range(len(rows)), draw.randrange(1, len(rows) + 1))
        cache = made.slots()
        cache.reserve(len(chosen), 64)
        cache.reserve(len(chosen), 101)
        at = {slot: draw.randrange(1, len(rows[row]) + 1) for slot, row in enumerate(chosen)}  # how much is there
        read_RV = cache.read([Reading(slot, rows[row][: at[slot]], 0) for slot, row in enumerate(chosen)], [])
        found += [(row, at[slot], read_RV[slot]) for slot, row in enumerate(chosen)]
        while left := [slot for slot in at if at[slot] < len(rows[chosen[slot]])]:
            some = draw.sample(left, draw.randrange(1, len(left) + 1))
            if draw.random() < 0.2:
                stop = {slot: draw.randrange(at[slot] + 1, len(rows[chosen[slot]]) + 1) for slot in some}
                read_RV = cache.read([Reading(s, rows[chosen[s]][: stop[s]], at[s]) for s in some], [])
                found += [(chosen[s], stop[s], read_RV[i]) for i, s in enumerate(some)]
                at |= stop
            else:
                logits_SV = write(cache, {s: rows[chosen[s]][: at[s] + 1] for s in some})
                at |= {slot: at[slot] + 1 for slot in some}
                found += [(chosen[s], at[s], logits_SV[s]) for s in some]
    return found


def rows_of(config, draw, count):
    return [[draw.randrange(config.vocab_size) for _ in range(draw.choice([3, 17, 40, 100]))] for _ in range(count)]


@pytest.mark.parametrize("config", SHAPES)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@torch.inference_mode()
def test_whatever_is_beside_and_however_it_came_there(config, dtype, tolerance):
    """The logits after the same tokens are equal up to rounding, relative to the largest of them."""
    draw = random.Random(0)
    made, rows = model(dtype, config=config), rows_of(config, draw, 18)
    first, compared = {}, 0
    for row, length, logits_V in random_company(made, draw, rows, 8):
        compared += (row, length) in first
        want_V = first.setdefault((row, length), logits_V)
        torch.testing.assert_close(logits_V, want_V, rtol=0, atol=tolerance * float(want_V.abs().max()))
    assert compared > 100


@pytest.mark.parametrize("config", SHAPES)
@torch.inference_mode()
def test_to_the_bit_the_same_shapes_in_the_same_order(config):
    """In float32."""
    rows = rows_of(config, random.Random(0), 9)
    one, other = (random_company(model(config=config), random.Random(1), rows, 4) for _ in range(2))
    assert [each[:2] for each in one] == [each[:2] for each in other] and len(one) > 30
    assert all(torch.equal(a, b) for (*_, a), (*_, b) in zip(one, other))


def test_what_it_says_of_itself():
    cache = model().slots()
    assert cache.token_bytes == 2 * 2 * 32 * 4
    assert {name for name in vars(SlotCache) if not name.startswith("_")} <= set(dir(cache))
