import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Pair
from handaxe.papers.skywork_reward_v2.curation import curate, filter_pairs, flipped, nearest, retrieval_size
from handaxe.testing.make_records import make_trajectory

CONTRACT = []


def pair(number):
    return Pair(make_trajectory(id=f"{number}/better"), make_trajectory(id=f"{number}/worse"))


class Judge:
    """Says the probability of a number for the better side first."""

    def __init__(self, chances):
        self.chances = chances

    def compare(self, sides):
        found = []
        for first, _ in sides:
            number, side = first.id.split("/")
            chance = self.chances.get(int(number), 0.9)
            found.append(chance if side == "better" else 1 - chance)
        return np.array(found)


@pytest.mark.parametrize("chance, count", [(0.3, 8), (0.5, 8), (0.6, 4), (0.95, 1), (1.0, 0), (0.875, 1)])
def test_retrieval_size_by_hand(chance, count):
    assert retrieval_size(chance) == count


def test_retrieval_size_falls_with_confidence():
    counts = [retrieval_size(p) for p in np.linspace(0, 1, 101)]
    assert counts == sorted(counts, reverse=True) and set(counts) <= set(range(9))


def test_nearest_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    query, pool = rng.normal(size=4), rng.normal(size=(9, 4))
    like = [
        sum(a * b for a, b in zip(query, row)) / math.sqrt(sum(a * a for a in query) * sum(b * b for b in row))
        for row in pool
    ]
    assert nearest(query, pool, 3) == sorted(range(9), key=lambda n: -like[n])[:3]
    assert nearest(np.array([1.0, 0]), np.array([[0.0, 1], [2, 0], [1, 1], [0, 0]]), 2) == [1, 2]


def place(one):
    """Pairs n on a line of angles, so that neighbours have near numbers."""
    number = int(one.chosen.id.split("/")[0])
    return np.array([math.cos(number / 20), math.sin(number / 20)])


def test_errors_retrieve_their_neighbours():
    """Gold pair 10 is wrong (8 neighbours at most), gold pair 0 is sure (p 0.95: 1 neighbour)."""
    judge = Judge({10: 0.2, 0: 0.95})
    pool = [pair(n) for n in (1, 2, 3, 9, 11, 12, 30)]
    options = {"fit": lambda own: judge, "label": lambda one: one, "embed": place}
    found = curate([pair(10), pair(0)], [pair(20)], pool, **options, rounds=1, most=3)
    assert [one.chosen.id for one in found] == ["20/better", "9/better", "11/better", "12/better", "1/better"]


def test_pairs_are_retrieved_once_and_only_labelled_ones_stay():
    fitted = []

    def fit(own):
        fitted.append(len(own))
        return Judge({0: 0.1})

    def label(one):
        return None if one.chosen.id == "2/better" else flipped(one)

    pool = [pair(n) for n in (1, 2, 3)]
    found = curate([pair(0)], [pair(5)], pool, fit=fit, label=label, embed=place, rounds=3, most=2)
    assert [one.chosen.id for one in found] == ["5/worse", "1/worse", "3/worse"] and fitted == [1, 2, 3]
    with pytest.raises(InputError, match="a verified pair"):
        curate([], [pair(5)], pool, fit=fit, label=label, embed=place)
    with pytest.raises(InputError, match="with a label"):
        curate([pair(0)], [pair(2)], pool, fit=fit, label=label, embed=place)


def test_two_models_sort_the_pool():
    best, gold = Judge({1: 0.9, 2: 0.1, 3: 0.9, 4: 0.2}), Judge({1: 0.8, 2: 0.2, 3: 0.3, 4: 0.7})
    labels = {3: flipped, 4: flipped}
    pool = [pair(n) for n in (1, 2, 3, 4)]
    parts = filter_pairs(pool, best=best, gold=gold, label=lambda one: labels[int(one.chosen.id[0])](one))
    assert [one.chosen.id for one in parts.agreed] == ["1/better"]
    assert [one.chosen.id for one in parts.recycled] == ["2/worse"]
    assert [one.chosen.id for one in parts.relabelled] == ["3/worse"]
    assert [one.chosen.id for one in parts.dropped] == ["4/better"]


def test_a_pair_without_a_label_is_dropped_and_nothing_is_lost():
    pool = [pair(n) for n in (1, 2)]
    parts = filter_pairs(pool, best=Judge({1: 0.9}), gold=Judge({1: 0.1}), label=lambda p: None)
    assert sum(map(len, parts)) == 2 and [one.chosen.id for one in parts.dropped] == ["1/better"]
    assert sum(map(len, filter_pairs([], best=Judge({}), gold=Judge({}), label=lambda p: p))) == 0
