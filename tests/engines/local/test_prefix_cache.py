import random

import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.engines.local.prefix_cache import Prefixes, common


def parts(ids, start=0):
    """Two tensors whose numbers say which token they are of: place and id."""
    place = torch.arange(start, len(ids)).float()[None, :, None]
    return [place, torch.tensor(ids[start:]).float()[None, :, None]]


def add(store, ids):
    store.add(ids, store.length(ids), parts(ids, store.length(ids)))


def check(store, ids, length):
    found = store.find(ids)
    assert found.length == length
    stops = [start + p[0].shape[1] for start, p in found.stretches]
    assert [start for start, _ in found.stretches] == [0, *stops][: len(stops)]
    for kind, want in enumerate(parts(ids[:length])):
        got = [p[kind] for _, p in found.stretches]
        assert torch.equal(torch.cat(got, 1) if got else want[:, :0], want)


def test_rows_that_begin_alike_are_kept_once():
    store = Prefixes(100)
    add(store, [1, 2, 3, 4])
    add(store, [1, 2, 5])
    add(store, [1, 2, 5, 6, 7])
    assert store.tokens == 4 + 1 + 2 and store.evicted == 0
    check(store, [1, 2, 3, 4, 9], 4)
    check(store, [1, 2, 5, 6, 8], 4)
    check(store, [1, 2], 2)
    check(store, [2, 1], 0)
    check(store, [], 0)


def test_what_was_used_longest_ago_goes_first_and_ends_before_beginnings():
    store = Prefixes(6)
    add(store, [1, 2, 3])
    add(store, [1, 2, 4])
    add(store, [7, 8])
    assert (store.tokens, store.evicted) == (6, 0)
    store.find([1, 2, 3])
    add(store, [9])
    assert (store.tokens, store.evicted) == (6, 1)  # [4], the end of the row that nobody asked for
    check(store, [1, 2, 4], 2)
    check(store, [7, 8], 2)
    add(store, [5, 5])
    check(store, [1, 2, 3], 2)  # [3] was older than [9], [1, 2] was asked for since
    check(store, [9], 0)
    assert (store.tokens, store.evicted) == (6, 3)


def test_a_row_longer_than_the_limit_is_kept_as_far_as_it_goes():
    store = Prefixes(3)
    add(store, [1, 2, 3, 4, 5])
    assert store.tokens == 3
    check(store, [1, 2, 3, 4, 5], 3)
    store.add([1, 2, 3, 4], 3, parts([1, 2, 3, 4], 3))
    assert store.tokens == 3
    nothing = Prefixes(0)
    nothing.add([1], 0, parts([1]))
    assert nothing.tokens == 0 and nothing.length([1]) == 0


def test_a_gap_is_refused():
    store = Prefixes(9)
    add(store, [1, 2])
    for start in (1, 3):
        with pytest.raises(InputError, match="2 tokens of the row are kept"):
            store.add([1, 2, 3, 4], start, parts([1, 2, 3, 4], start))
    with pytest.raises(InputError, match="make no sense"):
        Prefixes(-1)


def test_cleared_is_empty_and_goes_on():
    store = Prefixes(9)
    add(store, [1, 2])
    store.clear()
    assert store.tokens == 0 and store.length([1, 2]) == 0
    add(store, [1, 2, 3])
    check(store, [1, 2, 3], 3)


@pytest.mark.parametrize("limit", [5, 12, 40, 10**6])
def test_random_rows_against_a_plain_list(limit):
    """What is found is right, never longer than what was added, and all of it when nothing had to go."""
    draw, store, rows = random.Random(limit), Prefixes(limit), []
    for _ in range(400):
        ids = [draw.randrange(3) for _ in range(draw.randrange(1, 9))]
        if draw.random() < 0.5:
            add(store, ids)
            rows.append(ids)
        longest = max((common(row, ids) for row in rows), default=0)
        check(store, ids, store.length(ids))
        assert store.length(ids) <= longest
        if limit == 10**6:
            assert store.length(ids) == longest
        assert store.tokens <= limit
    assert (store.evicted > 0) == (limit < 10**6)
    if limit == 10**6:
        assert store.tokens == len({tuple(row[: n + 1]) for row in rows for n in range(len(row))})


def test_common():
    for n in range(8):
        assert common([1] * n + [2], [1] * 7 + [3]) == min(n, 7)
        assert common([5, *[1] * n], [9, 5, *[1] * n, 4], 1) == n + 1
    assert common([], [1]) == 0
