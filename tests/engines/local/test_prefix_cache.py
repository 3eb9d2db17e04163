import random

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.engines.local.prefix_cache import PrefixCache, common_length


def parts(ids, start=0):
    """Two tensors that encode the position and the id of each token."""
    position = torch.arange(start, len(ids)).float()[None, :, None]
    return [position, torch.tensor(ids[start:]).float()[None, :, None]]


def add(cache, ids):
    cache.add(ids, cache.length(ids), parts(ids, cache.length(ids)))


def check(cache, ids, length):
    found = cache.find(ids)
    assert found.length == length
    stops = [start + p[0].shape[1] for start, p in found.segments]
    assert [start for start, _ in found.segments] == [0, *stops][: len(stops)]
    for kind, want in enumerate(parts(ids[:length])):
        got = [p[kind] for _, p in found.segments]
        assert torch.equal(torch.cat(got, 1) if got else want[:, :0], want)


def test_shared_prefix_is_stored_once():
    cache = PrefixCache(100)
    add(cache, [1, 2, 3, 4])
    add(cache, [1, 2, 5])
    add(cache, [1, 2, 5, 6, 7])
    assert cache.tokens == 4 + 1 + 2 and cache.evicted == 0
    check(cache, [1, 2, 3, 4, 9], 4)
    check(cache, [1, 2, 5, 6, 8], 4)
    check(cache, [1, 2], 2)
    check(cache, [2, 1], 0)
    check(cache, [], 0)


def test_least_recently_used_leaf_is_evicted_first():
    cache = PrefixCache(6)
    add(cache, [1, 2, 3])
    add(cache, [1, 2, 4])
    add(cache, [7, 8])
    assert (cache.tokens, cache.evicted) == (6, 0)
    cache.find([1, 2, 3])
    add(cache, [9])
    assert (cache.tokens, cache.evicted) == (6, 1)  # [4], the least recently used leaf
    check(cache, [1, 2, 4], 2)
    check(cache, [7, 8], 2)
    add(cache, [5, 5])
    check(cache, [1, 2, 3], 2)  # [3] was used before [9], [1, 2] after it
    check(cache, [9], 0)
    assert (cache.tokens, cache.evicted) == (6, 3)


def test_row_above_the_capacity_is_cached_up_to_the_capacity():
    cache = PrefixCache(3)
    add(cache, [1, 2, 3, 4, 5])
    assert cache.tokens == 3
    check(cache, [1, 2, 3, 4, 5], 3)
    cache.add([1, 2, 3, 4], 3, parts([1, 2, 3, 4], 3))
    assert cache.tokens == 3
    disabled = PrefixCache(0)
    disabled.add([1], 0, parts([1]))
    assert disabled.tokens == 0 and disabled.length([1]) == 0


def test_add_refuses_a_gap():
    cache = PrefixCache(9)
    add(cache, [1, 2])
    for start in (1, 3):
        with pytest.raises(InputError, match="2 tokens of the row are cached"):
            cache.add([1, 2, 3, 4], start, parts([1, 2, 3, 4], start))
    with pytest.raises(InputError, match="makes no sense"):
        PrefixCache(-1)


def test_cleared_cache_is_empty_and_usable():
    cache = PrefixCache(9)
    add(cache, [1, 2])
    cache.clear()
    assert cache.tokens == 0 and cache.length([1, 2]) == 0
    add(cache, [1, 2, 3])
    check(cache, [1, 2, 3], 3)


@pytest.mark.parametrize("limit", [5, 12, 40, 10**6])
def test_random_rows_match_a_list_search(limit):
    """Found prefixes are correct and never longer than added rows; without evictions, every added row is found."""
    draw, cache, rows = random.Random(limit), PrefixCache(limit), []
    for _ in range(400):
        ids = [draw.randrange(3) for _ in range(draw.randrange(1, 9))]
        if draw.random() < 0.5:
            add(cache, ids)
            rows.append(ids)
        longest = max((common_length(row, ids) for row in rows), default=0)
        check(cache, ids, cache.length(ids))
        assert cache.length(ids) <= longest
        if limit == 10**6:
            assert cache.length(ids) == longest
        assert cache.tokens <= limit
    assert (cache.evicted > 0) == (limit < 10**6)
    if limit == 10**6:
        assert cache.tokens == len({tuple(row[: n + 1]) for row in rows for n in range(len(row))})


def test_common_length_counts_the_shared_ids_of_two_rows():
    for n in range(8):
        assert common_length([1] * n + [2], [1] * 7 + [3]) == min(n, 7)
        assert common_length([5, *[1] * n], [9, 5, *[1] * n, 4], 1) == n + 1
    assert common_length([], [1]) == 0
