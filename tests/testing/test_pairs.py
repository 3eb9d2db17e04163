"""Makers of pairs that each break one promise of the contract."""

from dataclasses import replace

import pytest

from handaxe.core.records import Pair
from handaxe.papers.tool_star.best_against_worst import best_against_worst
from handaxe.testing.pairs import check_pairs

good = best_against_worst()


def first_two(rated):
    return [Pair(one.group[0], one.group[1]) for one in rated if len(one.group) > 1]


def silent(rated):
    def empty(one):
        return replace(one, turns=(), sequences=())

    return [pair._replace(rejected=empty(pair.rejected)) for pair in good(rated)]


def across(rated):
    found = good(rated)
    return [Pair(a.chosen, b.rejected) for a, b in zip(found, found[1:])]


def in_place(rated):
    for one in rated:
        one.scores.outcome[:] = 0
    return []


def memory():
    seen = []

    def pairs(rated):
        seen.extend(rated)
        return good(rated)[: len(seen) % 3]

    return pairs


def test_good_makers_pass():
    check_pairs(good)
    check_pairs(lambda rated: [])
    check_pairs(lambda rated: [pair._replace(chosen=replace(pair.chosen)) for pair in good(rated)], cuts=True)


@pytest.mark.parametrize(
    "pairs, message",
    [
        (across, "two tasks"),
        (lambda rated: [pair._replace(rejected=pair.chosen) for pair in good(rated)], "preferred to itself"),
        (silent, "no policy token"),
        (lambda rated: [pair._replace(strength=-1.0) for pair in good(rated)], "strength of a pair"),
        (in_place, "is changed"),
        (memory(), "two calls"),
        (lambda rated: good(rated)[:1], "the order of groups"),
        (first_two, "the order of siblings"),
        (lambda rated: [pair._replace(chosen=replace(pair.chosen)) for pair in good(rated)], "not in the given groups"),
        (lambda rated: [Pair(*sorted(p[:2], key=lambda t: t.id)) for p in everyone(rated)], "no tie"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_broken_makers_raise(pairs, message):
    with pytest.raises(AssertionError, match=message):
        check_pairs(pairs)


def everyone(rated):
    """Pair the first two siblings with tokens of each group, by name."""
    named = [sorted((t for t in one.group if t.num_tokens), key=lambda t: t.id)[:2] for one in rated]
    return [Pair(*two) for two in named if len(two) == 2]
