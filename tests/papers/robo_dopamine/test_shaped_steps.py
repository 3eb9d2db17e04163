import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.ops.finite_mdp import FiniteMdp, expected_reward, optimal_action_values
from handaxe.papers.robo_dopamine.shaped_steps import progress_rewards


def test_progress_rewards_equal_the_worked_examples():
    progress = np.array([0.4, 0.7])
    assert progress_rewards(progress)[0] == pytest.approx(0.293, abs=1e-12)
    assert progress_rewards(progress, form="level").tolist() == [0.7]
    assert progress_rewards(progress, form="none").tolist() == [0]


@settings(max_examples=40, deadline=None)
@given(progress=st.lists(st.floats(0, 1), min_size=1, max_size=20), gamma=st.floats(0.1, 1))
def test_the_discounted_sum_of_the_shaping_telescopes(progress, gamma):
    rewards = progress_rewards(np.array(progress), gamma=gamma)
    total = sum(gamma**n * value for n, value in enumerate(rewards))
    assert total == pytest.approx(gamma ** len(rewards) * progress[-1] - progress[0], abs=1e-9)


def transition_rewards(mdp, progress_S, form):
    """[S, A] expected rewards of a progress, computed a transition at a time by `progress_rewards`."""
    states, actions = mdp.transition_SAZ.shape[:2]
    pair_SZ = [[progress_rewards(np.array([p, q]), form=form, gamma=mdp.discount)[0] for q in progress_S]
               for p in progress_S]  # fmt: skip
    return expected_reward(mdp, np.broadcast_to(np.array(pair_SZ)[:, None], (states, actions, states)))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_shaping_leaves_the_optimal_policy_of_an_exact_process(seed):
    """Q' = Q - Phi for every action, so that the best actions are the same."""
    rng = np.random.default_rng(seed)
    mdp = FiniteMdp(rng.dirichlet(np.ones(5), (5, 3)), np.ones(5) / 5, 0.9)
    gold_SA, progress_S = rng.normal(size=(5, 3)), rng.uniform(size=5)
    plain_SA = optimal_action_values(mdp, gold_SA)
    shaped_SA = optimal_action_values(mdp, gold_SA + transition_rewards(mdp, progress_S, "shaping"))
    assert np.abs(shaped_SA - (plain_SA - progress_S[:, None])).max() < 1e-6
    assert (shaped_SA.argmax(1) == plain_SA.argmax(1)).all()


def test_the_level_makes_lingering_near_the_goal_the_best_policy():
    """States: far 0, near 0.9, goal 1 (absorbing). Actions: linger, advance; only the step to the goal pays 1."""
    transition = np.zeros((3, 2, 3))
    transition[[0, 1, 2], 0, [0, 1, 2]] = 1
    transition[[0, 1, 2], 1, [1, 2, 2]] = 1
    mdp = FiniteMdp(transition, np.array([1.0, 0, 0]), 0.95)
    gold_SA, progress_S = np.array([[0, 0], [0, 1], [0, 0.0]]), np.array([0, 0.9, 1])
    best = {form: optimal_action_values(mdp, gold_SA + transition_rewards(mdp, progress_S, form))
            for form in ("none", "shaping")}  # fmt: skip
    level_SA = transition_rewards(mdp, progress_S, "level")
    level_SA[2] = 0  # the episode ends at the goal
    best["level"] = optimal_action_values(mdp, gold_SA + level_SA)
    assert {form: value[:2].argmax(1).tolist() for form, value in best.items()} == {
        "none": [1, 1], "shaping": [1, 1], "level": [1, 0],
    }  # fmt: skip
    assert best["level"][1].tolist() == pytest.approx([0.9 / 0.05, 2.0], abs=1e-6)


def test_bad_progress_is_refused():
    with pytest.raises(InputError, match="before and after each turn"):
        progress_rewards(np.array([0.0, np.nan]))
    with pytest.raises(InputError, match="shaping, level or none"):
        progress_rewards(np.zeros(2), form="difference")
    with pytest.raises(InputError, match="shaping, level or none"):
        progress_rewards(np.zeros(2), gamma=0.0)
