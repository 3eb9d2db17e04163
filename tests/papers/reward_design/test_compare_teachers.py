import numpy as np
import pytest

from handaxe.ops.finite_mdp import FiniteMdp
from handaxe.papers.reward_design.compare_teachers import compare_teachers, rank_agreement
from handaxe.papers.reward_design.design_problem import DesignProblem
from handaxe.papers.reward_design.navigation import line_key
from handaxe.papers.reward_design.policy_gradient import GradientBudget

TASK = line_key(length=5)


def test_all_rewards_are_compared_with_the_adaptive_one():
    found = compare_teachers(TASK, 900, learners=2, budget=GradientBudget(updates=3))
    assert {"gain/true", "gain/invariant", "gain/fixed", "gain/adaptive_4", "gain/unconstrained"} <= found.keys()
    assert 0 < found["unconstrained/outside"] <= 1 and -1 <= found["rank"] <= 1


def test_informativeness_orders_rewards_of_two_arms_as_the_true_gain():
    arms = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.0)
    problem = DesignProblem.of(arms, np.array([[1.0, 0.0]]), limit=10.0)
    assert rank_agreement(problem, np.eye(2), np.zeros((1, 2)), seed=0) == pytest.approx(1.0)
