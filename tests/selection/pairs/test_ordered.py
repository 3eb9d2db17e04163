import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = [{}, {"most": 2}, {"gap": 0.3}, {"ties": True}]


def group(count):
    return make_group(trajectories=[make_trajectory(layouts=["Utp"], sample=i, id=str(i)) for i in range(count)])


def named(outcome, **options):
    found = ordered(**options)([make_rated(group=group(len(outcome)), outcome=outcome)])
    return [(pair.chosen.sample, pair.rejected.sample, pair.strength) for pair in found]


def test_the_docstring_example():
    assert named([1, 0, 0.5]) == [(0, 1, 1.0), (0, 2, 0.5), (2, 1, 0.5)]


def test_options_choose_pairs():
    assert named([1, 0, 0.5], most=1) == [(0, 1, 1.0)]
    assert named([1, 0, 0.5], gap=0.5) == [(0, 1, 1.0)]
    assert named([1, 1, 0], ties=True) == [(0, 2, 1.0), (1, 2, 1.0), (0, 1, 0.0)]
    assert named([np.nan, 1, 0]) == [(1, 2, 1.0)]
    assert named([2, 2]) == []


def test_a_channel_is_compared():
    one = make_rated(group=group(2), outcome=[0, 0])
    scores = Scores(np.zeros(2), channels={"true": np.array([0.0, 3.0])})
    assert [p.strength for p in ordered(channel="true")([one.__class__.of(one.group, scores, one.advantages)])] == [3.0]
    with pytest.raises(InputError, match="no channel 'proxy'; there are none"):
        ordered(channel="proxy")([one])


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_a_slow_loop(seed):
    outcome = np.random.default_rng(seed).integers(0, 3, 5).tolist()
    want = []
    for strength in (2, 1):
        for i in range(5):
            want += [(i, j, float(strength)) for j in range(5) if outcome[i] - outcome[j] == strength]
    assert named(outcome) == want


@pytest.mark.parametrize("options", [{"gap": -1}, {"most": 0}])
def test_bad_options_are_refused(options):
    with pytest.raises(InputError, match="gap from 0 and 1 pair or more"):
        ordered(**options)
