import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.reward_design.episode_gradients import (
    Episodes,
    intrinsic_gradient,
    reinforce_gradient,
    visit_bonus,
)
from handaxe.papers.reward_design.explors import SelfDesign, self_designed_training
from handaxe.papers.reward_design.navigation import chain


def drawn_episodes(rng, steps=6, runs=2, states=3, actions=2):
    chances_TNA = rng.dirichlet(np.ones(actions), size=(steps, runs))
    weight_TN = (np.arange(steps)[:, None] < rng.integers(2, steps + 1, size=runs)).astype(float)
    state_TN = rng.integers(states, size=(steps, runs))
    action_TN = rng.integers(actions, size=(steps, runs))
    own_TN, true_TN = rng.normal(size=(2, steps, runs)) * weight_TN
    return Episodes(state_TN, action_TN, weight_TN, own_TN, true_TN, chances_TNA)


def one_step(*, own=0.0, true=0.0):
    return Episodes(*(np.array([[x]]) for x in (0, 0, 1.0, own, true)), np.array([[[0.5, 0.5]]]))


def test_the_bonus_falls_with_visits_from_its_maximum():
    assert visit_bonus(np.array([0, 3, 8]), bonus=1.0, most=1.0) == pytest.approx([1, 0.5, 1 / 3])
    # lambda 2, most 0.5: 2 / sqrt(16 + 9).
    assert visit_bonus(np.array([0, 9]), bonus=2.0, most=0.5) == pytest.approx([0.5, 0.4])
    with pytest.raises(InputError, match="above 0"):
        visit_bonus(np.zeros(1), bonus=0.0, most=1.0)


def test_gradients_of_one_step_match_their_examples():
    assert intrinsic_gradient(one_step(true=1.0), np.zeros((1, 1)))[0, 0] == pytest.approx([0.25, -0.25])
    assert not intrinsic_gradient(one_step(true=1.0), np.ones((1, 1))).any()
    assert reinforce_gradient(one_step(own=2.0), np.full((1, 1, 2), 0.5))[0, 0] == pytest.approx([1, -1])


@given(st.integers(0, 10_000))
def test_gradients_equal_slow_loops(seed):
    rng = np.random.default_rng(seed)
    found = drawn_episodes(rng)
    value_NS, policy_NSA = rng.normal(size=(2, 3)), rng.dirichlet(np.ones(2), size=(2, 3))
    intrinsic, policy = np.zeros((2, 3, 2)), np.zeros((2, 3, 2))
    for n in range(2):
        for t in range(6):
            if not found.weight_TN[t, n]:
                continue
            s, a, pi = found.state_TN[t, n], found.action_TN[t, n], found.chances_TNA[t, n]
            for b in range(2):
                gain = pi[a] * (found.true_TN[t, n] - value_NS[n, s])
                intrinsic[n, s, b] += gain * ((a == b) - pi[b])
                policy[n, s, b] += found.own_TN[t, n] * ((a == b) - policy_NSA[n, s, b])
        policy[n] /= found.weight_TN[:, n].sum()
    assert intrinsic_gradient(found, value_NS) == pytest.approx(intrinsic, abs=1e-9)
    assert reinforce_gradient(found, policy_NSA) == pytest.approx(policy, abs=1e-9)


@given(st.integers(0, 10_000))
def test_the_intrinsic_gradient_is_the_derivative_of_the_return_through_one_update(seed):
    rng = np.random.default_rng(seed)
    pi, returns, phi, baseline = rng.dirichlet(np.ones(3)), rng.normal(size=3), rng.normal(size=3), rng.normal()

    def after(reward):
        """Return of the policy after a gradient step on an immediate reward: logits + 1e-5 pi (phi - phi(pi))."""
        new = pi * np.exp(1e-5 * pi * (reward - pi @ reward))
        return new @ returns / new.sum()

    # Expectation of the estimate over actions, with one step a sample.
    value_NS, expected = np.full((1, 1), baseline), np.zeros(3)
    for a, p in enumerate(pi):
        step = Episodes(*(np.array([[x]]) for x in (0, a, 1.0, 0.0, returns[a])), pi[None, None])
        expected += p * intrinsic_gradient(step, value_NS)[0, 0]
    centred = expected + (baseline - pi @ returns) * sum(p * p * (np.eye(3)[a] - pi) for a, p in enumerate(pi))
    for b in range(3):
        ahead, behind = (after(phi + sign * np.eye(3)[b]) for sign in (1, -1))
        assert centred[b] == pytest.approx((ahead - behind) / 2e-5, abs=1e-4)


def test_parts_of_the_reward_change_only_their_agents():
    task, design = chain(right=3, left=8), SelfDesign(episodes=60, evaluate_every=20)
    both = {"learns_N": np.array([False, True, False, True]), "explores_N": np.array([False, False, True, True])}
    found = self_designed_training(task, np.random.default_rng(3), design=design, **both)
    assert found.shape == (4, 3) and np.isfinite(found).all()
    again = self_designed_training(task, np.random.default_rng(3), design=design, **both)
    assert (found == again).all()
    with pytest.raises(InputError, match="above 0"):
        self_designed_training(task, np.random.default_rng(3), design=SelfDesign(rate=0.0), **both)
    with pytest.raises(InputError, match="equal length"):
        self_designed_training(
            task, np.random.default_rng(3), learns_N=np.ones(2), explores_N=np.ones(3), design=design
        )
