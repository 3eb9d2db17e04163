"""Bias and variance of credits, computed by listing all batches of a small decision process."""

import numpy as np
import pytest

from handaxe.credit.group_norm import group_norm
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.gradient_bias import BiasCase, measure_bias
from handaxe.testing.mdp import StopOrGo, estimate_moments, exact_gradient


def row_of(credit, **options):
    (row,) = measure_bias([BiasCase("", credit, **options)], size=2)
    return row


def test_unbiased_credits_are_found_and_a_mean_by_index_is_biased():
    assert row_of(leave_one_out).unbiased == row_of(return_to_go).unbiased == "yes"
    centred = row_of(lambda: group_norm(std=None))
    assert centred.unbiased == "up to its length" and centred.length == pytest.approx(0.5)
    by_index = row_of(lambda: turn_norm(norm="index", std=None))
    assert by_index.unbiased == "no" and by_index.bias > 0.1 and by_index.angle > 5


def test_a_mean_by_turn_index_is_a_price_on_further_turns():
    """By hand: m_k is the mean reward of turn k over rollouts that reach it. As G grows, a rollout loses sum_k m_k over
    its turns, and the estimate is the gradient less that of E[sum_k m_k]: a price of E[r_k] on every further turn."""
    world = StopOrGo(logits=(0.4, -0.7), stop=(0.0, 0.0), go=(1.0, 1.0), outcome=(0.0, 0.0, 0.0))
    go = 1 / (1 + np.exp(-np.array(world.logits)))
    # every rollout has turn 0, so its mean has no gradient; rollouts that continue have turn 1, at the price m_1 = go_1
    price = np.array([go[0] * (1 - go[0]) * go[1], 0.0])
    slow = []
    for size in (2, 3, 4):
        slow.append(estimate_moments(world, turn_norm(norm="index", std=None), size).mean)
    exact = exact_gradient(world)
    # each reward is part of its mean: the estimate of turn k shrinks by (n_k - 1) / n_k for n_k rollouts with the turn
    distance = [float(np.linalg.norm(one - (exact - price))) for one in slow]
    assert distance[0] > distance[1] > distance[2]
    assert np.linalg.norm(slow[2] - exact) > 0.1


def test_variance_equals_a_loop_over_all_batches():
    world, values = StopOrGo(), []
    mean, variance = estimate_moments(world, leave_one_out(), 2)
    for a in range(4):
        for b in range(4):
            group, scores = world.group((a, b))
            advantages, estimate = leave_one_out()(group, scores), np.zeros(3)
            for rollout, (row,) in zip((a, b), advantages.tokens):
                for k, slope in enumerate(world.score(rollout)):
                    estimate[k] += row[2 + 4 * k] * slope / 2
            values.append((float(np.exp(world.logp(a).sum() + world.logp(b).sum())), estimate))
    slow = sum(p * e for p, e in values)
    np.testing.assert_allclose(mean, slow, atol=1e-12)
    assert variance == pytest.approx(sum(p * float((e - slow) @ (e - slow)) for p, e in values), abs=1e-12)


def test_forks_sum_to_probability_one_and_share_a_prefix():
    seen = []

    def credit(group, scores):
        seen.append(group)
        return return_to_go()(group, scores)

    ones = estimate_moments(StopOrGo(stop=(0,) * 3, go=(0,) * 3, outcome=(1,) * 4), credit, 2, forks=True)
    assert ones.mean == pytest.approx(np.zeros(3), abs=1e-12)  # E of the score times 1
    forked = [group for group in seen if len(group) == 2]
    assert len(forked) == 9 and all(group[1].branch_of == (group[0].id, 0, 6) for group in forked)


@pytest.mark.slow
def test_two_groups_a_batch_halve_the_variance():
    one = estimate_moments(StopOrGo(), leave_one_out(), 2)
    two = estimate_moments(StopOrGo(), leave_one_out(), 2, groups=2)
    np.testing.assert_allclose(two.mean, one.mean, atol=1e-12)
    assert two.variance == pytest.approx(one.variance / 2, abs=1e-12)
