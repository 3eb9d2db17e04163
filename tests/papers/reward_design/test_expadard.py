import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, mean_return, policy_values, random_mdp, softmax_policy
from handaxe.papers.reward_design.design_problem import DesignProblem
from handaxe.papers.reward_design.expadard import adaptive_reward, informativeness_slope, occupancy
from handaxe.papers.reward_design.invariance import optimal_target
from handaxe.papers.reward_design.navigation import line_key
from handaxe.papers.reward_design.structures import leaf_basis

ARMS = DesignProblem.of(FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.0), np.array([[1.0, 0.0]]), limit=10.0)


def teacher_view(problem, policy_SA):
    """sum_s mu_T(s) A_T(s, pi): mu_T of a teacher with 0.3 random actions."""
    mdp, reward_SA = problem.mdp, problem.reward_SA
    teacher_SA = np.eye(reward_SA.shape[1])[problem.target.policy_S]
    value_S = policy_values(mdp, teacher_SA, reward_SA)
    advantage_SA = reward_SA + mdp.discount * mdp.transition_SAZ @ value_S - value_S[:, None]
    mu_S = occupancy(mdp, 0.7 * teacher_SA + 0.3 / reward_SA.shape[1])
    return float((mu_S[:, None] * policy_SA * advantage_SA).sum())


def slow_advantage(mdp, policy_SA, reward_SA, steps):
    value_S = np.zeros(len(reward_SA))
    for _ in range(steps):
        q_SA = np.array(
            [
                [reward_SA[s, a] + mdp.discount * mdp.transition_SAZ[s, a] @ value_S for a in range(reward_SA.shape[1])]
                for s in range(len(value_S))
            ]
        )
        value_S = (policy_SA * q_SA).sum(1)
    return q_SA - value_S[:, None]


def test_two_arms_match_their_example():
    assert informativeness_slope(ARMS, np.full((1, 2), 0.5)) == pytest.approx(np.array([[0.125, -0.125]]))


def test_occupancy_is_the_share_of_time():
    moves = np.array([[[0.0, 1.0]], [[0.0, 1.0]]])
    assert occupancy(FiniteMdp(moves, np.array([1.0, 0.0]), 0.5), np.ones((2, 1))) == pytest.approx([0.5, 0.5])


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 4]))
def test_informativeness_is_the_derivative_along_a_policy_gradient_step(seed, steps):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=3, discount=0.9)
    problem = DesignProblem.of(mdp, rng.uniform(-1, 1, size=(3, 3)), limit=1.0)
    logits_SA, reward_SA = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    policy_SA = softmax_policy(logits_SA, temperature=1.0)
    step_SA = occupancy(mdp, policy_SA)[:, None] * policy_SA * slow_advantage(mdp, policy_SA, reward_SA, steps)
    ahead, behind = (
        teacher_view(problem, softmax_policy(logits_SA + rate * step_SA, temperature=1.0)) for rate in (1e-5, -1e-5)
    )
    found = (informativeness_slope(problem, policy_SA, steps=steps) * reward_SA).sum()
    assert found == pytest.approx((ahead - behind) / 2e-5, abs=1e-6)


def test_the_teachers_view_rises_with_the_true_return():
    weak, strong = (np.array([[p, 1 - p]]) for p in (0.4, 0.6))
    assert teacher_view(ARMS, strong) > teacher_view(ARMS, weak)
    assert mean_return(ARMS.mdp, strong, ARMS.reward_SA) > mean_return(ARMS.mdp, weak, ARMS.reward_SA)


def test_the_adapted_reward_is_invariant_and_at_least_as_informative_as_the_true_one():
    task = line_key(length=5)
    problem = DesignProblem.of(task.mdp, task.reward_SA, limit=10.0)
    basis_KW = leaf_basis(task.leaf_S, 3)
    for seed in range(3):
        policy_SA = softmax_policy(np.random.default_rng(seed).normal(size=task.reward_SA.shape), temperature=1.0)
        slope_SA = informativeness_slope(problem, policy_SA)
        found = adaptive_reward(problem, basis_KW, slope_SA)
        assert problem.invariant(found.reward_SA, tolerance=2e-3)
        assert found.informativeness == pytest.approx((slope_SA * found.reward_SA).sum(), rel=1e-3)
        assert found.informativeness >= (slope_SA * task.reward_SA).sum() - 1e-6
        free = adaptive_reward(problem, basis_KW, slope_SA, invariant=False)
        assert free.informativeness > found.informativeness
        outside_SA = optimal_target(task.mdp, free.reward_SA).optimal_SA & ~problem.target.optimal_SA
        assert outside_SA.any() and not problem.invariant(free.reward_SA)


def test_bad_policies_and_structures_are_rejected():
    with pytest.raises(InputError, match="the policy has shape"):
        informativeness_slope(ARMS, np.ones((2, 2)))
    with pytest.raises(InputError, match="steps are 0"):
        informativeness_slope(ARMS, np.full((1, 2), 0.5), steps=0)
    with pytest.raises(InputError, match="larger basis"):
        adaptive_reward(ARMS, np.ones((2, 1)), np.zeros((1, 2)))
