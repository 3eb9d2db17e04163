import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import (
    FiniteMdp,
    expected_reward,
    mean_return,
    optimal_action_values,
    policy_values,
    random_mdp,
    softmax_policy,
)

BANDIT = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.5)
CHAIN = FiniteMdp(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]), np.array([1.0, 0.0]), 0.5)
"""State 0: action 0 stays, action 1 moves to state 1, which is never left."""


def slow_values(mdp, policy_SA, reward_SA):
    """Iterate the Bellman equation of the policy by loops."""
    states, actions = reward_SA.shape
    value = [0.0] * states
    for _ in range(2000):
        value = [
            sum(
                policy_SA[s, a]
                * (reward_SA[s, a] + mdp.discount * sum(mdp.transition_SAZ[s, a, z] * value[z] for z in range(states)))
                for a in range(actions)
            )
            for s in range(states)
        ]
    return value


def test_values_of_a_chain_match_the_numbers_worked_by_hand():
    """Staying has 1 a step, moving 0, state 1 has 3 a step: V1 = 6. Half and half in state 0: V0 = .5 (1 + .5 V0) +
    .5 (.5 * 6) = 2 + .25 V0 = 8 / 3."""
    reward_SA = np.array([[1.0, 0.0], [3.0, 3.0]])
    even_SA = np.full((2, 2), 0.5)
    assert policy_values(CHAIN, even_SA, reward_SA) == pytest.approx([8 / 3, 6.0])
    assert mean_return(CHAIN, even_SA, reward_SA) == pytest.approx(8 / 3)
    assert optimal_action_values(CHAIN, reward_SA) == pytest.approx(np.array([[2.5, 3.0], [6.0, 6.0]]))


def test_examples_of_the_docstrings():
    mdp = FiniteMdp(np.array([[[0.25, 0.75]], [[0.0, 1.0]]]), np.array([1.0, 0.0]), 0.0)
    assert expected_reward(mdp, np.array([[[4.0, 0.0]], [[0.0, 0.0]]])).tolist() == [[1.0], [0.0]]
    assert optimal_action_values(BANDIT, np.array([[1.0, 0.0]])) == pytest.approx(np.array([[2.0, 1.0]]))
    q_SA = np.array([[1.0, 1.001]])
    assert softmax_policy(q_SA).tolist() == [[0.0, 1.0]]
    assert softmax_policy(q_SA, temperature=0.1) == pytest.approx(np.array([[0.4975, 0.5025]]), abs=1e-4)
    assert softmax_policy(np.array([[1.0, 1.0]])).tolist() == [[1.0, 0.0]]


def test_soft_values_of_a_bandit_match_the_closed_form():
    """V = log(e + 1) + V / 2, so V = 2 log(e + 1)."""
    q_SA = optimal_action_values(BANDIT, np.array([[1.0, 0.0]]), temperature=1.0)
    value = 2 * np.log(np.e + 1)
    assert q_SA == pytest.approx(np.array([[1 + value / 2, value / 2]]), abs=1e-8)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 0.9]))
def test_values_match_a_slow_loop_and_no_policy_is_above_the_optimum(seed, discount):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=2, discount=discount)
    reward_SA = rng.normal(size=(3, 2))
    policy_SA = rng.dirichlet(np.ones(2), size=3)
    value_S = policy_values(mdp, policy_SA, reward_SA)
    q_SA = optimal_action_values(mdp, reward_SA)
    if seed % 20 == 0:
        assert value_S == pytest.approx(slow_values(mdp, policy_SA, reward_SA), abs=1e-6)
    assert (value_S <= q_SA.max(1) + 1e-8).all()
    assert policy_values(mdp, softmax_policy(q_SA), reward_SA) == pytest.approx(q_SA.max(1), abs=1e-6)


def test_a_soft_optimum_has_the_entropy_in_its_value():
    rng = np.random.default_rng(3)
    mdp = random_mdp(rng, states=4, actions=3, discount=0.8)
    reward_SA = rng.normal(size=(4, 3))
    q_SA = optimal_action_values(mdp, reward_SA, temperature=0.3)
    policy_SA = softmax_policy(q_SA, temperature=0.3)
    soft_S = policy_values(mdp, policy_SA, reward_SA - 0.3 * np.log(policy_SA))
    assert soft_S == pytest.approx((policy_SA * (q_SA - 0.3 * np.log(policy_SA))).sum(1), abs=1e-7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FiniteMdp(np.ones((2, 1, 1)), np.ones(1), 0.5), "shape"),
        (lambda: FiniteMdp(np.ones((1, 0, 1)), np.ones(1), 0.5), "shape"),
        (lambda: FiniteMdp(np.full((1, 1, 1), 0.9), np.ones(1), 0.5), "sum 1"),
        (lambda: FiniteMdp(np.ones((1, 1, 1)), np.full(1, 2.0), 0.5), "sum 1"),
        (lambda: FiniteMdp(np.ones((1, 1, 1)), np.ones(1), 1.0), "discount"),
        (lambda: optimal_action_values(BANDIT, np.zeros((1, 2)), temperature=-1), "temperature"),
        (lambda: optimal_action_values(BANDIT, np.full((1, 2), np.nan)), "finite"),
        (lambda: softmax_policy(np.zeros((1, 2)), temperature=-1), "temperature"),
        (lambda: random_mdp(np.random.default_rng(0), states=0, actions=1, discount=0.5), "1 or more"),
    ],
)
def test_invalid_arguments_are_rejected(make, message):
    with pytest.raises(InputError, match=message):
        make()
