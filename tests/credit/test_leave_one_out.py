import numpy as np
import pytest

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.testing.mdp import StopOrGo, expected, gradient
from handaxe.testing.ragged import random_group, random_scores
from handaxe.testing.records import make_group, make_scores

CONTRACT = [{}, {"stats_over": "eligible"}]


def values(credit, outcome, **more):
    group = make_group(size=len(outcome))
    return [row[3] for (row,) in credit(group, make_scores(outcome, **more)).tokens]


def test_example():
    np.testing.assert_allclose(values(leave_one_out(), [1, 0, 0, 0]), [1, -1 / 3, -1 / 3, -1 / 3], rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_against_a_slow_loop(seed):
    group = random_group(seed, size=2 + seed % 4)
    scores = random_scores(group, seed)
    reward = [float(scores.outcome[i]) + sum(scores.turns[i].tolist()) for i in range(len(group))]
    adv = leave_one_out()(group, scores)
    for i, one in enumerate(group):
        others = [reward[j] for j in range(len(group)) if j != i]
        for s, sequence in enumerate(one.sequences):
            wanted = np.where(sequence.mask, reward[i] - sum(others) / len(others), 0.0)
            np.testing.assert_allclose(adv.tokens[i][s], wanted, atol=1e-9)


def test_edges():
    assert values(leave_one_out(), [0.7]) == [0]
    assert values(leave_one_out(lone="reward"), [0.7]) == [0.7]
    assert values(leave_one_out(), [0.3, 0.1 + 0.2]) == [0, 0]
    assert values(leave_one_out(), [1, np.nan, 0]) == [1, 0, -1]
    assert values(leave_one_out(stats_over="eligible"), [1, 0, 9], eligible=[True, True, False]) == [1, -1, 0]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_its_gradient_is_exact_on_average(size):
    world = StopOrGo()
    np.testing.assert_allclose(expected(world, leave_one_out(), size), gradient(world), atol=1e-12)


def test_a_channel_takes_the_place_of_the_whole_reward():
    found = values(leave_one_out(channel="right"), [9, 9, 9, 9], channels={"right": [1, 0, 0, 0]})
    np.testing.assert_allclose(found, [1, -1 / 3, -1 / 3, -1 / 3])
