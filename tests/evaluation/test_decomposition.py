"""Joint against separate normalization: the worked example, arithmetic, and the decision process."""

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.evaluation.decomposition import (
    EVEN,
    angle_between,
    compare_normalization,
    gradients,
    group_angle,
    two_parts,
)
from handaxe.testing.make_records import make_group
from handaxe.testing.mdp import StopOrGo, exact_gradient, expected_gradient

JOINT = group_norm(std="population", eps=0.0)
APART = total({name: (1.0, group_norm(std="population", eps=0.0, channel=name)) for name in ("first", "second")})


def values(credit, first, second):
    """[G] advantages of siblings."""
    group = make_group(size=len(first))
    first, second = np.array(first, float), np.array(second, float)
    found = credit(group, Scores(first + second, channels={"first": first, "second": second}))
    return np.array([max(rows[0], key=abs) for rows in found.tokens])


def test_worked_example_by_hand():
    right, formed = [1, 0, 1, 0], [1, 1, 1, 0]
    np.testing.assert_allclose(values(JOINT, right, formed), [0.905, -0.302, 0.905, -1.508], atol=1e-3)
    np.testing.assert_allclose(values(APART, right, formed), [1.577, -0.423, 1.577, -2.732], atol=1e-3)
    alone = group_norm(std="population", eps=0.0, channel="second")
    np.testing.assert_allclose(values(alone, right, formed), [0.577, 0.577, 0.577, -1.732], atol=1e-3)


def spread_out(correlation, spread, size=6):
    """A group with a given correlation and ratio of spreads of the parts."""
    rng = np.random.default_rng(int(10 * spread) + size)
    raw = rng.normal(size=(3, size))
    raw[0] = 1.0
    basis = np.linalg.qr(raw.T)[0].T * np.sqrt(size)
    first, other = basis[1], basis[2]
    return first, spread * (correlation * first + np.sqrt(1 - correlation**2) * other)


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("spread", [0.2, 1.0, 3.0])
def test_group_angle_equals_that_of_the_credits(correlation, spread):
    first, second = spread_out(correlation, spread)
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(correlation)
    joint, apart = values(JOINT, first, second), values(APART, first, second)
    angle, length = group_angle(correlation, spread)
    assert angle_between(apart, joint) == pytest.approx(angle, abs=1e-4)
    assert np.linalg.norm(apart) / np.linalg.norm(joint) == pytest.approx(length)


def test_three_parts_of_equal_spread_have_equal_directions():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(3, 5))
    columns = (columns - columns.mean(1, keepdims=True)) / columns.std(1, keepdims=True)
    group, names = make_group(size=5), ("a", "b", "c")
    credit = total({name: (1.0, group_norm(std="population", eps=0.0, channel=name)) for name in names})
    scores = Scores(columns.sum(0), channels=dict(zip(names, columns)))
    apart, joint = (np.array([max(rows[0], key=abs) for rows in one(group, scores).tokens]) for one in (credit, JOINT))
    pairs = sum(np.corrcoef(columns)[k, j] for k in range(3) for j in range(k))
    assert angle_between(apart, joint) < 1e-5
    assert np.linalg.norm(apart) / np.linalg.norm(joint) == pytest.approx(np.sqrt(3 + 2 * pairs))


def test_equal_spreads_have_angle_zero_and_unequal_ones_do_not():
    assert group_angle(0.9, 1.0)[0] == group_angle(-0.9, 1.0)[0] == pytest.approx(0.0, abs=1e-5)
    assert group_angle(0.0, 5.0)[0] == pytest.approx(33.69, abs=0.01)
    assert group_angle(0.0, 5.0)[0] == pytest.approx(group_angle(0.0, 0.2)[0])


def test_two_parts_have_the_given_correlation_and_spread():
    world = StopOrGo()
    chance = np.array([np.exp(world.logp(a).sum()) for a in range(4)])
    first, second = two_parts(world, -0.4, 3.0)
    assert chance @ first == pytest.approx(0) and chance @ second == pytest.approx(0)
    assert chance @ first**2 == pytest.approx(1) and chance @ second**2 == pytest.approx(9)
    assert chance @ (first * second) == pytest.approx(-0.4 * 3)


def earning(credit, earned):
    """A credit of groups with rollout numbers as outcomes."""

    def scored(group, scores):
        first, second = earned[:, scores.outcome.astype(int)]
        return credit(group, Scores(first + second, channels={"first": first, "second": second}))

    return scored


@pytest.mark.parametrize("logits", [EVEN.logits, (0.4, -0.7, 1.1)])
def test_gradients_equal_expectations_of_the_credits(logits):
    none = (0.0,) * 3
    world, numbered = StopOrGo(logits), StopOrGo(logits, none, none, (0.0, 1.0, 2.0, 3.0))
    earned = two_parts(world, -0.4, 3.0)
    for found, credit in zip(gradients(world, earned, 3), (JOINT, APART), strict=True):
        slow = expected_gradient(numbered, earning(credit, earned), 3, turn_rewards=False)
        np.testing.assert_allclose(found, slow, atol=1e-12)


def test_small_groups_differ_at_equal_spreads():
    small, large = compare_normalization(0.5, 1.0, size=4), compare_normalization(0.5, 1.0, size=32)
    assert small.within_angle == large.within_angle == pytest.approx(0.0, abs=1e-5)
    assert small.angle > 10 > 3 > large.angle


def test_in_large_groups_joint_follows_the_sum():
    none = (0.0,) * 3
    for correlation, spread in ((0.0, 5.0), (-0.5, 2.0), (0.5, 1.0)):
        first, second = two_parts(EVEN, correlation, spread)
        joint, apart = gradients(EVEN, np.stack([first, second]), 32)
        assert angle_between(joint, exact_gradient(StopOrGo(EVEN.logits, none, none, tuple(first + second)))) < 1
        levelled = exact_gradient(StopOrGo(EVEN.logits, none, none, tuple(first + second / spread)))
        assert angle_between(apart, levelled) < 2


def test_equal_parts_are_twice_as_long_when_separate():
    same = compare_normalization(1.0, 5.0)
    assert same.angle < 1e-4 and same.length == pytest.approx(2.0)
    true = exact_gradient(StopOrGo(EVEN.logits, (0.0,) * 3, (0.0,) * 3, tuple(two_parts(EVEN, 1.0, 5.0).sum(0))))
    assert same.joint_bias == pytest.approx(angle_between(gradients(EVEN, two_parts(EVEN, 1.0, 5.0), 4)[0], true))


def test_arguments_out_of_range_are_errors():
    for correlation, spread in ((-1.0, 1.0), (1.1, 1.0), (0.0, 0.0)):
        with pytest.raises(InputError, match="correlation is"):
            two_parts(StopOrGo(), correlation, spread)
