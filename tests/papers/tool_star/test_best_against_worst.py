import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.papers.tool_star.best_against_worst import best_against_worst
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = [{}, {"gap": 0.5}]


def named(pairs):
    return [(pair.chosen.sample, pair.rejected.sample, pair.strength) for pair in pairs]


def group(count):
    return make_group(trajectories=[make_trajectory(layouts=["Utp"], sample=i) for i in range(count)])


def test_the_best_sibling_is_paired_with_the_worst():
    batch = [make_rated(group=group(3), outcome=[0, 1, 0.5]), make_rated(group=group(2), outcome=[1, 1])]
    assert named(best_against_worst()(batch)) == [(1, 0, 1.0)]


def test_the_reward_range_must_exceed_the_gap():
    batch = [make_rated(group=group(2), outcome=[0.5, 0])]
    assert not best_against_worst(gap=0.5)(batch) and named(best_against_worst(gap=0.4)(batch)) == [(0, 1, 0.5)]


def test_ties_go_to_the_lower_sample():
    batch = [make_rated(group=group(4), outcome=[0, 1, 0, 1])]
    assert named(best_against_worst()(batch)) == [(1, 0, 1.0)]


def test_best_against_worst_reads_a_channel_and_turn_rewards():
    members = group(2)
    turns = tuple(np.array([0.0, 3.0][i : i + 1]) for i in range(2))
    scores = Scores(np.array([1.0, 0.0]), turns, {"right": np.array([0.0, 0.25])})
    assert named(best_against_worst()([make_rated(group=members, scores=scores)])) == [(1, 0, 2.0)]
    assert named(best_against_worst(channel="right")([make_rated(group=members, scores=scores)])) == [(1, 0, 0.25)]


def test_unscored_masked_and_empty_siblings_are_in_no_pair():
    silent = make_trajectory(layouts=["Ut"], sample=3)
    members = make_group(trajectories=[*group(3), silent])
    scores = Scores(np.array([0.5, np.nan, 0.2, 9.0]))
    one = make_rated(group=members, scores=scores, trained=[True, True, True, True], advantage=[0, 0, 0, 0])
    assert named(best_against_worst()([one])) == [(0, 2, pytest.approx(0.3))]
    one.trained[2] = False
    assert best_against_worst()([one]) == []


def test_best_against_worst_refuses_a_negative_gap():
    with pytest.raises(InputError, match="at least 0"):
        best_against_worst(gap=-0.1)
