import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import mean_return, optimal_action_values
from handaxe.papers.reward_design.navigation import line_key
from handaxe.papers.reward_design.q_learning import QBudget, drawn_states, q_learning, true_returns

TASK = line_key(length=4)


def test_returns_of_several_policies_are_those_of_each():
    rng = np.random.default_rng(0)
    policy_NSA = rng.dirichlet(np.ones(3), size=(4, 9))
    alone = [mean_return(TASK.mdp, one, TASK.reward_SA) for one in policy_NSA]
    assert true_returns(TASK, policy_NSA) == pytest.approx(alone)


def test_states_are_drawn_by_their_probability():
    rng = np.random.default_rng(0)
    drawn_N = drawn_states(rng, np.tile([0.25, 0.25, 1.0], (4000, 1)))
    assert set(drawn_N.tolist()) == {0, 2} and (drawn_N == 0).mean() == pytest.approx(0.25, abs=0.03)
    assert drawn_states(rng, np.full((3, 2), 1e-12)).tolist() == [1, 1, 1]


def test_learners_reach_the_optimum_on_a_dense_reward_and_not_on_none():
    q_SA = optimal_action_values(TASK.mdp, TASK.reward_SA)
    dense_SA = q_SA - q_SA.max(1, keepdims=True)
    rewards = np.stack([dense_SA, np.zeros_like(dense_SA)])
    budget = QBudget(steps=900, every=300)
    found = q_learning(TASK, rewards, np.random.default_rng(0), runs=3, budget=budget)
    assert found.shape == (2, 3, 3)
    assert found[0, :, -1] == pytest.approx(np.full(3, TASK.mdp.start_S @ q_SA.max(1)), rel=0.1)
    assert found[1].max() < 0.5 * found[0].min()
    again = q_learning(TASK, rewards, np.random.default_rng(0), runs=3, budget=budget)
    assert (again == found).all()
    with pytest.raises(InputError, match="above 0"):
        q_learning(TASK, rewards, np.random.default_rng(0), runs=0, budget=budget)
