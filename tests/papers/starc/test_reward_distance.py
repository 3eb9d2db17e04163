import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, expected_reward, mean_return, random_mdp
from handaxe.papers.starc.reward_distance import canonical_reward, reward_distance, standard_reward
from handaxe.papers.starc.reward_pairs import equivalent_reward

BANDIT = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.0)


def arms(*values):
    return np.array(values, float).reshape(1, 2, 1)


def drawn(seed, discount=0.8):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=2, discount=discount)
    return rng, mdp, [rng.normal(size=(3, 2, 3)) for _ in range(3)]


def test_a_bandit_matches_the_numbers_worked_by_hand():
    assert canonical_reward(BANDIT, arms(1, 0)).ravel() == pytest.approx([0.5, -0.5])
    assert standard_reward(BANDIT, arms(3, 1)).ravel() == pytest.approx([0.5**0.5, -(0.5**0.5)])
    assert reward_distance(BANDIT, arms(1, 0), arms(3, 1)) == pytest.approx(0.0, abs=1e-9)
    assert reward_distance(BANDIT, arms(1, 0), arms(0, 1)) == pytest.approx(1.0)
    # Against a constant reward, which orders no arms, s is 0: half of the norm 1.
    assert reward_distance(BANDIT, arms(1, 0), arms(2, 2)) == pytest.approx(0.5)
    # Without the canonical form: (1, 0) and (3, 1) / sqrt(10), squared difference 2 - 6 / sqrt(10) = 0.102633.
    raw = reward_distance(BANDIT, arms(1, 0), arms(3, 1), canonical=False)
    assert raw == pytest.approx(0.102633**0.5 / 2, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_distance_matches_a_slow_loop(seed):
    rng, mdp, (first, second, _) = drawn(seed)
    policy = rng.dirichlet(np.ones(2), size=3)

    def levelled(reward):
        p, value = mdp.transition_SAZ, [0.0] * 3
        for _ in range(400):
            value = [
                sum(
                    policy[s, a] * p[s, a, z] * (reward[s, a, z] + mdp.discount * value[z])
                    for a in range(2)
                    for z in range(3)
                )
                for s in range(3)
            ]
        rows = {
            (s, a): sum(p[s, a, z] * (reward[s, a, z] - value[s] + mdp.discount * value[z]) for z in range(3))
            for s, a in itertools.product(range(3), range(2))
        }
        size = sum(3 * one**2 for one in rows.values()) ** 0.5
        return {place: one / size for place, one in rows.items()}

    one, other = levelled(first), levelled(second)
    slow = sum(3 * (one[place] - other[place]) ** 2 for place in one) ** 0.5 / 2
    assert reward_distance(mdp, first, second, policy_SA=policy) == pytest.approx(slow, abs=1e-6)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 0.95]))
def test_the_distance_ignores_what_keeps_the_order_of_policies(seed, discount):
    rng, mdp, (first, second, _) = drawn(seed, discount)
    same = equivalent_reward(rng, mdp, second)
    assert reward_distance(mdp, second, same) == pytest.approx(0.0, abs=1e-6)
    assert reward_distance(mdp, first, second) == pytest.approx(reward_distance(mdp, first, same), abs=1e-6)
    assert reward_distance(mdp, second, -second) == pytest.approx(1.0)


@given(st.integers(0, 10_000))
def test_the_distance_is_a_pseudometric_up_to_1(seed):
    _, mdp, (a, b, c) = drawn(seed)
    ab, bc, ac = (reward_distance(mdp, *pair) for pair in ((a, b), (b, c), (a, c)))
    assert reward_distance(mdp, b, a) == pytest.approx(ab) and reward_distance(mdp, a, a) == 0.0
    assert 0 <= ab <= 1 + 1e-9 and ac <= ab + bc + 1e-9


@given(st.integers(0, 10_000))
def test_the_canonical_reward_orders_policies_as_the_reward_does(seed):
    """Both returns differ by the same number for every policy: the value of the reference policy at the start."""
    rng, mdp, (reward, _, _) = drawn(seed)
    differences = []
    for _ in range(3):
        policy = rng.dirichlet(np.ones(2), size=3)
        returns = [
            mean_return(mdp, policy, expected_reward(mdp, one)) for one in (reward, canonical_reward(mdp, reward))
        ]
        differences.append(returns[0] - returns[1])
    assert differences == pytest.approx([differences[0]] * 3, abs=1e-8)


def test_rewards_without_effect_have_the_standard_form_zero():
    rng, mdp, _ = drawn(5)
    shaping = equivalent_reward(rng, mdp, np.zeros((3, 2, 3)))
    assert not standard_reward(mdp, shaping).any() and not standard_reward(mdp, np.zeros((3, 2, 3))).any()


def test_invalid_rewards_are_rejected():
    for wrong in (np.zeros((1, 2)), arms(np.nan, 0)):
        with pytest.raises(InputError, match="equal shape"):
            reward_distance(BANDIT, arms(1, 0), wrong)
        with pytest.raises(InputError, match="equal shape"):
            standard_reward(BANDIT, wrong, canonical=False)
