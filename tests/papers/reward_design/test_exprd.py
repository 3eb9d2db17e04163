from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, optimal_action_values, random_mdp
from handaxe.papers.reward_design.design_problem import DesignProblem, horizon_informativeness
from handaxe.papers.reward_design.exprd import choose_states, explicable_reward
from handaxe.papers.reward_design.invariance import optimal_target
from handaxe.papers.reward_design.navigation import line_key
from handaxe.papers.reward_design.structures import sparse_basis

ARMS = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.0)
TRUE = np.array([[1.0, 0.0]])


@pytest.fixture(scope="module")
def problem():
    task = line_key(length=5)
    return DesignProblem.of(task.mdp, task.reward_SA, limit=10.0)


def every_state(problem):
    return sparse_basis(problem.reward_SA.shape, range(len(problem.reward_SA)))


def test_two_arms_have_the_smallest_reward_with_the_gap_of_the_true_one():
    found = explicable_reward(DesignProblem.of(ARMS, TRUE, limit=1.0), np.eye(2))
    assert found.reward_SA[0, 0] - found.reward_SA[0, 1] == pytest.approx(1.0, abs=1e-4)
    assert np.abs(found.reward_SA).sum() == pytest.approx(1.0, abs=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_no_optimal_policy_of_a_designed_reward_leaves_the_optimal_actions(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=4, actions=3, discount=0.8)
    reward_SA = rng.uniform(-1, 1, size=(4, 3))
    one = DesignProblem.of(mdp, reward_SA, limit=2.0, horizons=[1, 3])
    found = explicable_reward(one, every_state(one))
    assert one.invariant(found.reward_SA, tolerance=2e-3)
    optimal_SA = optimal_target(mdp, found.reward_SA).optimal_SA
    wide_SA = optimal_action_values(mdp, reward_SA)
    loss_SA = wide_SA.max(1, keepdims=True) - wide_SA
    assert (loss_SA[optimal_SA] < 0.01).all()
    # The true reward is inside the bounds, so the best is at least as informative.
    assert found.informativeness >= horizon_informativeness(one, reward_SA) - 1e-4
    assert found.informativeness == pytest.approx(horizon_informativeness(one, found.reward_SA), abs=2e-3)


def test_more_states_are_not_less_informative_and_the_first_choice_is_the_best(problem):
    shape = problem.reward_SA.shape
    first = choose_states(problem, 1, candidates=range(10))
    values = {s: explicable_reward(problem, sparse_basis(shape, [9, s])).informativeness for s in range(9)}
    assert first == [9, max(values, key=values.get)]
    goal = explicable_reward(problem, sparse_basis(shape, [9])).informativeness
    every = explicable_reward(problem, every_state(problem)).informativeness
    assert goal < values[first[1]] <= every + 1e-9


def test_two_greedy_states_are_close_to_the_best_pair(problem):
    shape = problem.reward_SA.shape
    chosen = choose_states(problem, 2, candidates=range(10))
    pairs = [
        explicable_reward(problem, sparse_basis(shape, [9, *two])).informativeness for two in combinations(range(9), 2)
    ]
    goal = explicable_reward(problem, sparse_basis(shape, [9])).informativeness
    gain = explicable_reward(problem, sparse_basis(shape, chosen)).informativeness - goal
    assert 0.5 * (max(pairs) - goal) <= gain <= max(pairs) - goal + 1e-9


def test_rewards_are_sparse_and_bounded(problem):
    found = explicable_reward(problem, sparse_basis(problem.reward_SA.shape, [9, 1])).reward_SA
    assert np.flatnonzero(found.any(1)).tolist() == [1, 9] and np.abs(found).max() <= 10 + 1e-6
    assert problem.invariant(problem.reward_SA) and problem.invariant(found, tolerance=2e-3)
    assert not problem.invariant(np.zeros_like(found)) and not problem.invariant(2 * found)


def test_bad_problems_name_what_to_give(problem):
    with pytest.raises(InputError, match="larger basis"):
        explicable_reward(problem, sparse_basis(problem.reward_SA.shape, [0]))
    with pytest.raises(InputError, match="33 rows"):
        explicable_reward(problem, np.eye(4))
    with pytest.raises(InputError, match="at most as many"):
        choose_states(problem, 3, candidates=[1, 2])
