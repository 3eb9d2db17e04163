import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, optimal_action_values, random_mdp
from handaxe.papers.policy_cliff.tied_reward import tied_reward


@given(st.integers(0, 10_000), st.integers(1, 3))
def test_the_chosen_number_of_actions_is_optimal_and_others_are_worse_by_the_gap(seed, optimal):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=4, actions=3, discount=0.6)
    q_SA = optimal_action_values(mdp, tied_reward(rng, mdp, optimal=optimal, gap=0.4))
    behind_SA = q_SA.max(1, keepdims=True) - q_SA
    assert ((behind_SA < 1e-8).sum(1) == optimal).all()
    assert (behind_SA[behind_SA > 1e-8] >= 0.4 - 1e-8).all()


def test_one_state_without_discount_has_equal_rewards_of_optimal_actions():
    """The value of the first normal draw is the reward of both arms."""
    mdp = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.0)
    found = tied_reward(np.random.default_rng(0), mdp, optimal=2)
    assert found.tolist() == [[np.random.default_rng(0).normal()] * 2]


def test_invalid_arguments_are_rejected():
    rng = np.random.default_rng(0)
    mdp = random_mdp(rng, states=2, actions=2, discount=0.5)
    for wrong in ({"optimal": 0}, {"optimal": 3}, {"optimal": 1, "gap": 0.0}):
        with pytest.raises(InputError, match="give 1 to 2"):
            tied_reward(rng, mdp, **wrong)
