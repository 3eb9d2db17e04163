"""Attention of new tokens against a loop over tokens and heads."""

import math

import pytest
import torch

from handaxe.core.model_api import Reading
from handaxe.models.huggingface_attention import attend_read, attend_written

SLOTS, ROOM, WIDTH = 4, 12, 6


def stored(heads):
    draw = torch.Generator().manual_seed(heads)
    return [torch.randn(SLOTS + 1, heads, ROOM, WIDTH, dtype=torch.float64, generator=draw) for _ in range(2)]


def slow(query_HK, slot, position, keys, values):
    """One token, head by head, pair by pair."""
    shared, out = len(query_HK) // keys.shape[1], []
    for head, query_K in enumerate(query_HK):
        near = [(keys[slot, head // shared, p], values[slot, head // shared, p]) for p in range(position + 1)]
        weights = [math.exp(float(query_K @ key_K) / math.sqrt(WIDTH)) for key_K, _ in near]
        out.append(sum(w * value_K for w, (_, value_K) in zip(weights, near)) / sum(weights))
    return torch.stack(out)


@pytest.mark.parametrize("heads,shared", [(2, 1), (2, 3), (1, 4)])
@pytest.mark.parametrize("lengths", [[1, 1, 1], [3, 1, 2], [1, 4, 1], [2, 2, 2]])
def test_written_tokens_attend_their_slot_up_to_themselves(heads, shared, lengths):
    positions, (keys, values) = [5, -1, 8], stored(heads)
    q_NHK = torch.randn(sum(lengths) + 2, heads * shared, WIDTH, dtype=torch.float64)
    found = attend_written(lengths, positions, keys)(q_NHK, keys, values)
    assert found.shape == (sum(lengths), heads * shared, WIDTH)
    owners = [(slot, max(positions[slot], 0) + k) for slot, length in enumerate(lengths) for k in range(length)]
    for place, (slot, position) in enumerate(owners):
        want = slow(q_NHK[place], slot, position, keys, values)
        torch.testing.assert_close(found[place], want, rtol=0, atol=1e-12)


def test_what_lies_beyond_a_token_in_its_slot_is_not_attended_to():
    """A wrong draft leaves keys and values there."""
    keys, values = stored(2)
    q_NHK = torch.randn(3, 2, WIDTH, dtype=torch.float64)
    before = attend_written([1, 2], [4, 2], keys)(q_NHK, keys, values)
    keys[0, :, 5:], values[0, :, 5:], keys[1, :, 4:], values[1, :, 4:] = 9.0, 9.0, 9.0, 9.0
    assert torch.equal(attend_written([1, 2], [4, 2], keys)(q_NHK, keys, values), before)


@pytest.mark.parametrize("start,length", [(0, 5), (3, 7), (6, 7)])
@pytest.mark.parametrize("heads,shared", [(2, 1), (2, 2)])
def test_read_tokens_attend_their_row_up_to_themselves(heads, shared, start, length):
    keys, values = stored(heads)
    new = length - start
    q_NHK = torch.randn(4 + new, heads * shared, WIDTH, dtype=torch.float64)
    reading = Reading(2, list(range(length)), start)
    found = attend_read(reading, 2 + new, keys.device)(q_NHK, keys, values)
    for k in range(new):
        want = slow(q_NHK[3 + k], 2, start + k, keys, values)
        torch.testing.assert_close(found[k], want, rtol=0, atol=1e-12)


def test_nothing_written():
    keys, values = stored(1)
    assert attend_written([], [], keys)(torch.zeros(3, 1, WIDTH, dtype=torch.float64), keys, values).shape[0] == 0
