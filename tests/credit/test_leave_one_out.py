import numpy as np
import pytest

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.testing.make_records import make_group, make_scores
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"stats_over": "eligible"}]
BIAS = [BiasCase("leave_one_out()", leave_one_out)]


def values(credit, outcome, **more):
    group = make_group(size=len(outcome))
    return [row[3] for (row,) in credit(group, make_scores(outcome, **more)).tokens]


def test_leave_one_out_matches_the_docstring_example():
    np.testing.assert_allclose(values(leave_one_out(), [1, 0, 0, 0]), [1, -1 / 3, -1 / 3, -1 / 3], rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_leave_one_out_equals_a_slow_loop(seed):
    group = random_group(seed, size=2 + seed % 4)
    scores = random_scores(group, seed)
    reward = [float(scores.outcome[i]) + sum(scores.turns[i].tolist()) for i in range(len(group))]
    adv = leave_one_out()(group, scores)
    for i, one in enumerate(group):
        others = [reward[j] for j in range(len(group)) if j != i]
        for s, sequence in enumerate(one.sequences):
            wanted = np.where(sequence.mask, reward[i] - sum(others) / len(others), 0.0)
            np.testing.assert_allclose(adv.tokens[i][s], wanted, atol=1e-9)


def test_lone_and_unscored_siblings_get_zero():
    assert values(leave_one_out(), [0.7]) == [0]
    assert values(leave_one_out(lone="reward"), [0.7]) == [0.7]
    assert values(leave_one_out(), [0.3, 0.1 + 0.2]) == [0, 0]
    assert values(leave_one_out(), [1, np.nan, 0]) == [1, 0, -1]
    assert values(leave_one_out(stats_over="eligible"), [1, 0, 9], eligible=[True, True, False]) == [1, -1, 0]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_expected_gradient_is_exact(size):
    world = StopOrGo()
    np.testing.assert_allclose(expected_gradient(world, leave_one_out(), size), exact_gradient(world), atol=1e-12)


def test_a_channel_replaces_the_total_reward():
    found = values(leave_one_out(channel="right"), [9, 9, 9, 9], channels={"right": [1, 0, 0, 0]})
    np.testing.assert_allclose(found, [1, -1 / 3, -1 / 3, -1 / 3])
