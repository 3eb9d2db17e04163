import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, optimal_action_values, random_mdp
from handaxe.papers.reward_design.invariance import gap_matrix, optimal_target

ARMS = FiniteMdp(np.ones((1, 3, 1)), np.ones(1), 0.5)


def slow_gap(mdp, policy_S, reward_SA, steps):
    """Backward recursion over states, in loops."""
    states, actions = reward_SA.shape
    value = [0.0] * states
    for _ in range(steps):
        last = value
        value = [
            reward_SA[s, policy_S[s]]
            + mdp.discount * sum(mdp.transition_SAZ[s, policy_S[s], z] * last[z] for z in range(states))
            for s in range(states)
        ]
        q = [
            [
                reward_SA[s, a] + mdp.discount * sum(mdp.transition_SAZ[s, a, z] * last[z] for z in range(states))
                for a in range(actions)
            ]
            for s in range(states)
        ]
    return [[q[s][policy_S[s]] - q[s][a] for a in range(actions)] for s in range(states)]


def test_the_target_has_all_optimal_actions_and_the_gap_of_the_next():
    # Q = 1 + 0.5 * 2 = 2, 2 and 1.5.
    target = optimal_target(ARMS, np.array([[1.0, 1.0, 0.5]]))
    assert target.policy_S.tolist() == [0] and target.optimal_SA.tolist() == [[True, True, False]]
    assert target.gap_S == pytest.approx([0.5])
    assert optimal_target(ARMS, np.ones((1, 3))).gap_S.tolist() == [0.0]


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 5]))
def test_gaps_equal_a_slow_loop(seed, steps):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=2, discount=0.9)
    policy_S, reward_SA = rng.integers(2, size=3), rng.normal(size=(3, 2))
    found = (gap_matrix(mdp, policy_S, steps=steps) @ reward_SA.reshape(-1)).reshape(3, 2)
    assert found == pytest.approx(np.array(slow_gap(mdp, policy_S, reward_SA, steps)), abs=1e-9)


@given(st.integers(0, 10_000))
def test_gaps_without_horizon_are_those_of_the_optimal_values(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=4, actions=3, discount=0.8)
    reward_SA = rng.normal(size=(4, 3))
    q_SA = optimal_action_values(mdp, reward_SA)
    target = optimal_target(mdp, reward_SA)
    found = (gap_matrix(mdp, target.policy_S) @ reward_SA.reshape(-1)).reshape(4, 3)
    assert found == pytest.approx(q_SA.max(1, keepdims=True) - q_SA, abs=1e-6)
    near = gap_matrix(mdp, target.policy_S, steps=80) @ reward_SA.reshape(-1)
    assert near == pytest.approx(found.reshape(-1), abs=1e-6)


def test_a_horizon_of_no_steps_is_rejected():
    with pytest.raises(InputError, match="1 or more"):
        gap_matrix(ARMS, np.zeros(1, int), steps=0)
