import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, random_mdp
from handaxe.papers.policy_cliff.policy_shift import policy_shift, shift_bound, total_variation

BANDIT = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.0)


def test_a_bandit_matches_the_numbers_worked_by_hand():
    """softmax(10, 10.01) has 0.4975 and 0.5025: swapped, the total variation is 0.0050."""
    first, second = np.array([[1.0, 1.001]]), np.array([[1.001, 1.0]])
    assert policy_shift(BANDIT, first, second).tolist() == [1.0]
    assert policy_shift(BANDIT, first, second, temperature=0.1) == pytest.approx([np.tanh(0.005)])
    assert np.tanh(0.005) == pytest.approx(0.0050, abs=1e-6) and np.tanh(0.005) <= shift_bound(
        0.001, temperature=0.1, discount=0.0
    )
    assert shift_bound(0.001, temperature=0.1, discount=0.0) == pytest.approx(0.005)
    assert total_variation(np.array([1.0, 0.0]), np.array([0.25, 0.75])) == pytest.approx(0.75)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.5, 2.0]), st.sampled_from([0.0, 0.8]))
def test_no_shift_with_entropy_exceeds_the_bound(seed, temperature, discount):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=3, discount=discount)
    reward = rng.normal(size=(3, 3))
    changed = reward + 0.01 * rng.uniform(-1, 1, size=(3, 3))
    shift = policy_shift(mdp, reward, changed, temperature=temperature)
    assert shift.max() <= shift_bound(0.01, temperature=temperature, discount=discount) + 1e-8
    np.testing.assert_allclose(shift, policy_shift(mdp, changed, reward, temperature=temperature), atol=1e-12)
    ends = [_soft(mdp, one, temperature) for one in (reward, changed)]
    slow = [sum(abs(ends[0][s, a] - ends[1][s, a]) for a in range(3)) / 2 for s in range(3)]
    np.testing.assert_allclose(shift, slow, atol=1e-6)


def _soft(mdp, reward, temperature):
    """Policy with entropy bonus, by a plain iteration."""
    value = np.zeros(3)
    for _ in range(200):
        q = reward + mdp.discount * mdp.transition_SAZ @ value
        value = temperature * np.log(np.exp((q - q.max()) / temperature).sum(1)) + q.max()
    return np.exp((q - value[:, None]) / temperature)


def test_a_constant_added_to_all_rewards_moves_no_policy():
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, states=3, actions=2, discount=0.8)
    reward = rng.normal(size=(3, 2))
    for temperature in (0.0, 0.3):
        assert policy_shift(mdp, reward, reward + 5, temperature=temperature) == pytest.approx(np.zeros(3), abs=1e-8)


def test_invalid_arguments_are_rejected():
    with pytest.raises(InputError, match="shapes"):
        policy_shift(BANDIT, np.zeros((1, 2)), np.zeros((1, 3)))
    with pytest.raises(InputError, match="temperature"):
        policy_shift(BANDIT, np.zeros((1, 2)), np.zeros((1, 2)), temperature=-1)
    for wrong in ({"temperature": 0.0, "discount": 0.5}, {"temperature": 1.0, "discount": 1.0}):
        with pytest.raises(InputError, match="give above 0"):
            shift_bound(0.1, **wrong)
