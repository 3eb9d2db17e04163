from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Advantages
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.ops.ragged import scatter
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient

WORLD = StopOrGo()


def value_of_policy(world):
    return sum(np.exp(world.logp(a).sum()) * world.total(a) for a in range(len(world.logits) + 1))


def test_rewards_equal_the_table():
    assert [WORLD.actions(a) for a in range(4)] == [[0], [1, 0], [1, 1, 0], [1, 1, 1]]
    assert [WORLD.rewards(a) for a in range(4)] == [[0.1], [-0.3, 0.5], [-0.3, 0.2, -0.4], [-0.3, 0.2, 0.7]]
    np.testing.assert_allclose([WORLD.total(a) for a in range(4)], [1.1, 0.2, 1.5, -0.4])


def test_probabilities_sum_to_one():
    assert sum(np.exp(WORLD.logp(a).sum()) for a in range(4)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("world", [WORLD, StopOrGo(logits=(-2.0, 0.3), outcome=(0, 1, 3))], ids=["three", "two"])
def test_exact_gradient_equals_finite_differences(world):
    h, slow = 1e-5, []
    for k in range(len(world.logits)):
        up, down = (
            replace(world, logits=tuple(x + sign * h * (j == k) for j, x in enumerate(world.logits)))
            for sign in (1, -1)
        )
        slow.append((value_of_policy(up) - value_of_policy(down)) / (2 * h))
    np.testing.assert_allclose(exact_gradient(world), slow, atol=1e-9)


def test_group_has_valid_records():
    group, scores = WORLD.group((0, 3))
    assert [len(t.turns) for t in group] == [1, 3]
    assert scores.turns[1].tolist() == [-0.3, 0.2, 0.7] and scores.outcome.tolist() == [1, -1]
    row = group[1].sequences[0]
    p = np.exp(row.logp[row.mask])
    np.testing.assert_allclose(row.features["collision"][row.mask], p**2 + (1 - p) ** 2, atol=1e-6)
    _, folded = WORLD.group((0, 3), turn_rewards=False)
    assert folded.turns is None
    np.testing.assert_allclose(folded.outcome, [1.1, -0.4])


def turn_index_baseline(*, leave_out, scale=False):
    """Return-to-go minus the mean over siblings with a turn of the same index; 0 for a lone sibling."""

    def credit(group, scores):
        to_go = [
            np.cumsum((own + outcome * (np.arange(len(own)) == len(own) - 1))[::-1])[::-1]
            for own, outcome in zip(scores.turns, scores.outcome)
        ]
        out = []
        for i, own in enumerate(to_go):
            values = []
            for k, value in enumerate(own):
                peers = [g[k] for j, g in enumerate(to_go) if len(g) > k and not (leave_out and j == i)]
                spread = np.std(peers) + 1e-6 if scale and len(peers) > 1 else 1.0
                values.append((value - np.mean(peers)) / spread if peers else value)
            out.append(scatter(group[i], np.array(values)))
        return Advantages(tuple(out))

    return credit


def sine_of_angle(got, exact):
    """Compute the sine of the angle: an error that no learning rate corrects."""
    cosine = got @ exact / np.linalg.norm(got) / np.linalg.norm(exact)
    return float(np.sqrt(max(0.0, 1 - cosine**2)))


@pytest.mark.parametrize("scale", [False, True])
def test_baseline_by_turn_index_biases_the_gradient(scale):
    """The later a turn, the fewer siblings reach it, and the larger the share of its own return in the baseline."""
    exact = exact_gradient(WORLD)
    assert sine_of_angle(expected_gradient(WORLD, turn_index_baseline(leave_out=False, scale=scale), 3), exact) > 0.02
    assert sine_of_angle(expected_gradient(WORLD, leave_one_out(), 3), exact) < 1e-6


def test_leave_one_out_baseline_by_turn_index_is_exact():
    """Shows that the bias above is the estimator's."""
    got = expected_gradient(WORLD, turn_index_baseline(leave_out=True), 3)
    np.testing.assert_allclose(got, exact_gradient(WORLD), atol=1e-12)
