"""Bias and variance of credits, computed by listing all batches of a small decision process."""

import numpy as np
import pytest

from handaxe.credit.group_norm import group_norm
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.bias import Case, measure
from handaxe.testing.mdp import StopOrGo, estimate_moments, gradient


def case(make, **options):
    return Case("", "", lambda: (make(), None), **options)


def found(make, **options):
    (one,) = measure([case(make, **options)], size=2)
    return one


def test_what_is_known_to_be_without_bias_is_and_what_is_not_is_not():
    assert found(leave_one_out).unbiased == found(return_to_go).unbiased == "yes"
    centred = found(lambda: group_norm(std=None))
    assert centred.unbiased == "up to its length" and centred.length == pytest.approx(0.5)
    by_index = found(lambda: turn_norm(norm="index", std=None))
    assert by_index.unbiased == "no" and by_index.bias > 0.1 and by_index.angle > 5


def test_the_price_of_going_on_by_index():
    """By hand: with the mean of turn k's reward over those that got there, and G without end, what is taken from an
    attempt is sum_k m_k over the turns it had. So the estimate is the gradient less that of E[sum_k m_k]: a price of
    E[r_k] on every further turn."""
    world = StopOrGo(logits=(0.4, -0.7), stop=(0.0, 0.0), go=(1.0, 1.0), outcome=(0.0, 0.0, 0.0))
    go = 1 / (1 + np.exp(-np.array(world.logits)))
    # turn 0: every attempt has it, so its mean moves nothing. turn 1 is had by those that went on, and costs m_1 = go_1
    price = np.array([go[0] * (1 - go[0]) * go[1], 0.0])
    slow = []
    for size in (2, 3, 4):
        slow.append(estimate_moments(world, turn_norm(norm="index", std=None), size).mean)
    exact = gradient(world)
    # with n there, each own reward is in its mean: the estimate of turn k is shrunk by (n_k - 1) / n_k of those there
    distance = [float(np.linalg.norm(one - (exact - price))) for one in slow]
    assert distance[0] > distance[1] > distance[2]
    assert np.linalg.norm(slow[2] - exact) > 0.1


def test_variance_is_that_of_all_batches_one_by_one():
    world, values = StopOrGo(), []
    mean, variance = estimate_moments(world, leave_one_out(), 2)
    for a in range(4):
        for b in range(4):
            group, scores = world.group((a, b))
            advantages, estimate = leave_one_out()(group, scores), np.zeros(3)
            for attempt, (row,) in zip((a, b), advantages.tokens):
                for k, slope in enumerate(world.score(attempt)):
                    estimate[k] += row[2 + 4 * k] * slope / 2
            values.append((float(np.exp(world.logp(a).sum() + world.logp(b).sum())), estimate))
    slow = sum(p * e for p, e in values)
    np.testing.assert_allclose(mean, slow, atol=1e-12)
    assert variance == pytest.approx(sum(p * float((e - slow) @ (e - slow)) for p, e in values), abs=1e-12)


def test_forks_have_all_the_probability_and_share_what_they_share():
    seen = []

    def credit(group, scores):
        seen.append(group)
        return return_to_go()(group, scores)

    ones = estimate_moments(StopOrGo(stop=(0,) * 3, go=(0,) * 3, outcome=(1,) * 4), credit, 2, forks=True)
    assert ones.mean == pytest.approx(np.zeros(3), abs=1e-12)  # E of the score times 1
    forked = [group for group in seen if len(group) == 2]
    assert len(forked) == 9 and all(group[1].branch_of == (group[0].id, 0, 6) for group in forked)


def test_batches_of_two_groups_are_two_groups():
    one = estimate_moments(StopOrGo(), leave_one_out(), 2)
    two = estimate_moments(StopOrGo(), leave_one_out(), 2, groups=2)
    np.testing.assert_allclose(two.mean, one.mean, atol=1e-12)
    assert two.variance == pytest.approx(one.variance / 2, abs=1e-12)
