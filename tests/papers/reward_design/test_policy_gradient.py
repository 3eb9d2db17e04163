import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, mean_return, random_mdp, softmax_policy
from handaxe.papers.reward_design.navigation import line_key
from handaxe.papers.reward_design.policy_gradient import GradientBudget, gradient_training, tabular_gradient


def test_two_arms_match_their_example():
    arms = FiniteMdp(np.ones((1, 2, 1)), np.ones(1), 0.0)
    found = tabular_gradient(arms, np.full((1, 2), 0.5), np.array([[1.0, 0.0]]))
    assert found == pytest.approx(np.array([[0.25, -0.25]]))


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_the_gradient_equals_finite_differences(seed):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states=3, actions=2, discount=0.8)
    logits_SA, reward_SA = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    found = tabular_gradient(mdp, softmax_policy(logits_SA, temperature=1.0), reward_SA)
    for place in np.ndindex(3, 2):
        step = np.zeros((3, 2))
        step[place] = 1e-5
        ahead, behind = (
            mean_return(mdp, softmax_policy(logits_SA + sign * step, temperature=1.0), reward_SA) for sign in (1, -1)
        )
        assert found[place] == pytest.approx((1 - mdp.discount) * (ahead - behind) / 2e-5, abs=1e-6)


def test_a_teacher_sees_the_policy_every_few_updates():
    task, seen = line_key(length=4), []

    def design(policy_SA):
        seen.append(policy_SA)
        return task.reward_SA

    first_SA = np.zeros_like(task.reward_SA)
    returns = gradient_training(task, design, first_SA, GradientBudget(updates=5, rate=1.0, every=2))
    assert len(seen) == 3 and seen[0] == pytest.approx(np.full(task.reward_SA.shape, 1 / 3)) and not first_SA.any()
    assert returns.shape == (5,) and (np.diff(returns) > 0).all()
    with pytest.raises(InputError, match="above 0"):
        gradient_training(task, design, first_SA, GradientBudget(updates=0))
