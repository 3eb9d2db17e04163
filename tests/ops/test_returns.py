import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.returns import discounted_returns, gae_advantages, standard_deviation, standardise, whiten

NUMBERS = st.lists(st.floats(-10, 10, width=32), max_size=8)
UNIT = st.floats(0, 1)


def test_discounted_returns_equal_the_example():
    np.testing.assert_allclose(discounted_returns([1, 0, 2], 0.5), [1.5, 1, 2])
    np.testing.assert_allclose(discounted_returns([1, 0, 2]), [3, 2, 2])
    assert discounted_returns([]).shape == (0,)


def test_discounted_returns_do_not_change_the_input():
    rewards = np.array([1.0, 2.0])
    discounted_returns(rewards)
    np.testing.assert_array_equal(rewards, [1, 2])


@given(NUMBERS, UNIT)
def test_discounted_returns_equal_the_double_sum(rewards, gamma):
    slow = [sum(gamma ** (s - t) * rewards[s] for s in range(t, len(rewards))) for t in range(len(rewards))]
    np.testing.assert_allclose(discounted_returns(rewards, gamma), slow, atol=1e-9)


def test_gae_equals_the_example():
    r, v = [0, 0, 1], [0.5, 0.6, 0.8]
    np.testing.assert_allclose(gae_advantages(r, v, gamma=1, lam=0.95), [0.4705, 0.39, 0.2])
    np.testing.assert_allclose(gae_advantages(r, v, gamma=0.9, lam=0.8), [0.23008, 0.264, 0.2])


@given(NUMBERS, UNIT, UNIT, st.floats(-2, 2))
def test_gae_equals_the_discounted_sum_of_errors(rewards, gamma, lam, last):
    values = np.sin(np.arange(len(rewards))).tolist()
    following = [*values[1:], last]
    error = [r + gamma * f - v for r, f, v in zip(rewards, following, values)]
    slow = [sum((gamma * lam) ** (s - t) * error[s] for s in range(t, len(rewards))) for t in range(len(rewards))]
    fast = gae_advantages(rewards, values, gamma=gamma, lam=lam, last_value=last)
    np.testing.assert_allclose(fast, slow, atol=1e-9)


@given(NUMBERS, UNIT, st.floats(-2, 2))
def test_gae_has_closed_forms_at_lambda_0_and_1(rewards, gamma, last):
    """lam 1 is the (bootstrapped) return minus the value, lam 0 the one-step error."""
    values = np.cos(np.arange(len(rewards)))
    bootstrapped = np.array([*rewards[:-1], rewards[-1] + gamma * last]) if rewards else np.zeros(0)
    monte_carlo = gae_advantages(rewards, values, gamma=gamma, lam=1, last_value=last)
    np.testing.assert_allclose(monte_carlo, discounted_returns(bootstrapped, gamma) - values, atol=1e-9)
    one_step = gae_advantages(rewards, values, gamma=gamma, lam=0, last_value=last)
    following = np.append(values, last)[1:]
    np.testing.assert_allclose(one_step, np.array(rewards) + gamma * following - values, atol=1e-9)


def test_standard_deviation_equals_the_example():
    assert standard_deviation([1, 0, 0, 0]) == pytest.approx(0.5)
    assert standard_deviation([1, 0, 0, 0], "population") == pytest.approx(0.4330127)
    assert standard_deviation([]) == standard_deviation([3]) == 0


def test_weighted_standard_deviation_equals_repeated_numbers():
    assert standard_deviation([1, 0], weights=np.array([3.0, 1.0])) == pytest.approx(0.7071068)
    assert standard_deviation([1, 0], "population", weights=np.array([3.0, 1.0])) == pytest.approx(0.4330127)
    for std in ("sample", "population"):
        alike = standard_deviation([1, 0, 0, 4], std, weights=np.full(4, 0.3))
        assert alike == pytest.approx(standard_deviation([1, 0, 0, 4], std))
    as_often = standardise([1, 0, 7], [True, True, False], std="population", weights=[3, 1, 9])
    np.testing.assert_allclose(as_often[:2], standardise([1, 1, 1, 0], std="population")[2:])
    assert as_often[2] == 0


def test_rounding_differences_have_deviation_zero():
    three_ways = [0.1 + 0.2 - 0.2, 0.1, 0.3 - 0.2, np.float32(0.1)]
    assert len(set(three_ways)) > 2
    assert standard_deviation(three_ways) == 0
    assert not standardise(three_ways).any()
    assert not standardise(three_ways, std=None).any()
    assert not whiten(three_ways).any()
    assert standard_deviation([1e6, 1e6 + 1e-3]) == 0
    assert standard_deviation([0, 1e-6]) > 0


def test_standardise_equals_the_examples():
    np.testing.assert_allclose(standardise([1, 0, 0, 0]), [1.5, -0.5, -0.5, -0.5], atol=1e-5)
    a = 0.8660254
    np.testing.assert_allclose(standardise([1, 0, 0, 1]), [a, -a, -a, a], atol=1e-5)
    np.testing.assert_allclose(standardise([1, 0, 0, 1], std="population"), [1, -1, -1, 1], atol=1e-5)
    b = 0.5773503
    np.testing.assert_allclose(standardise([1, 0, 0, 0], std="population"), [3 * b, -b, -b, -b], atol=1e-5)
    np.testing.assert_allclose(standardise([1, 0, 0, 0], std=None), [0.75, -0.25, -0.25, -0.25])
    np.testing.assert_allclose(standardise([1, 0], eps=1.0, std="population"), [0.5 / 1.5, -0.5 / 1.5])


def test_standardise_ignores_uncounted_numbers():
    got = standardise([np.nan, 1, 0, 7], [False, True, True, False], std=None)
    np.testing.assert_allclose(got, [0, 0.5, -0.5, 0])


def test_standardise_of_a_single_number_follows_lone():
    assert standardise([0.7]).tolist() == [0]
    assert standardise([0.7], lone="reward").tolist() == [0.7]
    assert standardise([0.7, 3], [True, False], lone="reward").tolist() == [0.7, 0]
    assert standardise([]).tolist() == []


@given(NUMBERS, st.sampled_from(["sample", "population"]))
def test_standardised_rewards_are_bounded_by_group_size(rewards, std):
    """Whatever the rewards, however close together, no advantage exceeds what one odd sibling out can have."""
    n = max(len(rewards), 2)
    bound = (n - 1) / np.sqrt(n) if std == "sample" else np.sqrt(n - 1)
    got = standardise(rewards, std=std)
    assert np.all(np.abs(got) <= bound + 1e-9)
    assert abs(got.sum()) < 1e-6


def test_whiten_equals_the_example():
    np.testing.assert_allclose(whiten([1, 1, 0]), [0.57735, 0.57735, -1.15470], atol=1e-5)
    np.testing.assert_allclose(
        whiten([1, 1, 0], centre=False), np.array([0.57735, 0.57735, -1.15470]) + 2 / 3, atol=1e-5
    )


def test_whiten_adds_eps_to_the_variance():
    x = np.array([1.0, -1.0])
    np.testing.assert_allclose(whiten(x, eps=2.0), x / np.sqrt(2 + 2.0))
    np.testing.assert_allclose(whiten(x, eps=3.0, std="population"), x / np.sqrt(1 + 3.0))


def test_whiten_shifts_and_rejects_negative_eps():
    assert whiten([]).tolist() == []
    assert whiten([2.0]).tolist() == [0]
    assert whiten([2.0, 2.0], centre=False).tolist() == [2, 2]
    with pytest.raises(InputError, match="eps"):
        whiten([1.0], eps=-1)
