"""Tests of slot attention against a loop over tokens and heads."""

import math

import pytest
import torch

from handaxe.core.model_api import Reading
from handaxe.models.huggingface_attention import decode_attention, prefill_attention

SLOTS, CAPACITY, WIDTH = 4, 12, 6


def random_cache(heads):
    generator = torch.Generator().manual_seed(heads)
    shape = SLOTS + 1, heads, CAPACITY, WIDTH
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for _ in range(2)]


def reference_attention(query_HK, slot, position, keys, values):
    """Compute the attention of one token by loops over heads and positions."""
    shared, out = len(query_HK) // keys.shape[1], []
    for head, query_K in enumerate(query_HK):
        pairs = [(keys[slot, head // shared, p], values[slot, head // shared, p]) for p in range(position + 1)]
        weights = [math.exp(float(query_K @ key_K) / math.sqrt(WIDTH)) for key_K, _ in pairs]
        out.append(sum(w * value_K for w, (_, value_K) in zip(weights, pairs)) / sum(weights))
    return torch.stack(out)


@pytest.mark.parametrize("heads,shared", [(2, 1), (2, 3), (1, 4)])
@pytest.mark.parametrize("lengths", [[1, 1, 1], [3, 1, 2], [1, 4, 1], [2, 2, 2]])
def test_decoded_tokens_attend_to_their_slot_causally(heads, shared, lengths):
    positions, (keys, values) = [5, -1, 8], random_cache(heads)
    q_NHK = torch.randn(sum(lengths) + 2, heads * shared, WIDTH, dtype=torch.float64)
    out = decode_attention(lengths, positions, keys)(q_NHK, keys, values)
    assert out.shape == (sum(lengths), heads * shared, WIDTH)
    targets = [(slot, max(positions[slot], 0) + k) for slot, length in enumerate(lengths) for k in range(length)]
    for index, (slot, position) in enumerate(targets):
        expected = reference_attention(q_NHK[index], slot, position, keys, values)
        torch.testing.assert_close(out[index], expected, rtol=0, atol=1e-12)


def test_later_positions_of_a_slot_are_masked():
    """Rejected drafts leave keys and values at later positions."""
    keys, values = random_cache(2)
    q_NHK = torch.randn(3, 2, WIDTH, dtype=torch.float64)
    expected = decode_attention([1, 2], [4, 2], keys)(q_NHK, keys, values)
    keys[0, :, 5:], values[0, :, 5:], keys[1, :, 4:], values[1, :, 4:] = 9.0, 9.0, 9.0, 9.0
    assert torch.equal(decode_attention([1, 2], [4, 2], keys)(q_NHK, keys, values), expected)


@pytest.mark.parametrize("start,length", [(0, 5), (3, 7), (6, 7)])
@pytest.mark.parametrize("heads,shared", [(2, 1), (2, 2)])
def test_prefilled_tokens_attend_to_their_row_causally(heads, shared, start, length):
    keys, values = random_cache(heads)
    new = length - start
    q_NHK = torch.randn(4 + new, heads * shared, WIDTH, dtype=torch.float64)
    reading = Reading(2, list(range(length)), start)
    out = prefill_attention(reading, 2 + new, keys.device)(q_NHK, keys, values)
    for k in range(new):
        expected = reference_attention(q_NHK[3 + k], 2, start + k, keys, values)
        torch.testing.assert_close(out[k], expected, rtol=0, atol=1e-12)


def test_decode_attention_without_tokens_returns_an_empty_tensor():
    keys, values = random_cache(1)
    assert decode_attention([], [], keys)(torch.zeros(3, 1, WIDTH, dtype=torch.float64), keys, values).shape[0] == 0
