import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.reward_design.episode_gradients import (
    Episodes,
    intrinsic_gradient,
    reinforce_gradient,
    state_sums,
    visit_bonus,
)


def episodes(rng, steps=5, runs=3, states=4, actions=2):
    weight_TN = np.ones((steps, runs))
    weight_TN[3:, 1] = 0.0  # the episode of the second run ends after three steps
    chances_TNA = rng.dirichlet(np.ones(actions), size=(steps, runs))
    return Episodes(
        rng.integers(states, size=(steps, runs)),
        rng.integers(actions, size=(steps, runs)),
        weight_TN,
        rng.normal(size=(steps, runs)),
        rng.normal(size=(steps, runs)),
        chances_TNA,
    )


def one_step(own, true):
    whole = np.zeros((1, 1), int)
    return Episodes(whole, whole, np.ones((1, 1)), np.full((1, 1), own), np.full((1, 1), true), np.full((1, 1, 2), 0.5))


def test_gradients_equal_the_examples():
    assert intrinsic_gradient(one_step(0.0, 1.0), np.zeros((1, 1))).tolist() == [[[0.25, -0.25]]]
    assert reinforce_gradient(one_step(2.0, 0.0), np.full((1, 1, 2), 0.5)).tolist() == [[[1.0, -1.0]]]
    assert visit_bonus(np.array([0, 3, 8]), bonus=1.0, most=1.0) == pytest.approx([1, 0.5, 1 / 3], abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_gradients_equal_loops_over_steps(seed):
    rng = np.random.default_rng(seed)
    found = episodes(rng)
    value_NS = rng.normal(size=(3, 4))
    policy_NSA = rng.dirichlet(np.ones(2), size=(3, 4))
    intrinsic = np.zeros((3, 4, 2))
    reinforce = np.zeros((3, 4, 2))
    for n in range(3):
        for t in range(5):
            s, a = found.state_TN[t, n], found.action_TN[t, n]
            chances = found.chances_TNA[t, n]
            for b in range(2):
                hit = float(a == b)
                gain = found.true_TN[t, n] - value_NS[n, s]
                intrinsic[n, s, b] += found.weight_TN[t, n] * chances[a] * gain * (hit - chances[b])
                push = found.weight_TN[t, n] * found.own_TN[t, n]
                reinforce[n, s, b] += push * (hit - policy_NSA[n, s, b]) / found.weight_TN[:, n].sum()
    assert intrinsic_gradient(found, value_NS) == pytest.approx(intrinsic, abs=1e-9)
    assert reinforce_gradient(found, policy_NSA) == pytest.approx(reinforce, abs=1e-9)


def test_sums_add_steps_in_one_state():
    found = one_step(0.0, 0.0)._replace(state_TN=np.array([[1], [1]]))
    assert state_sums(found, np.array([[[2.0]], [[3.0]]]), 2).tolist() == [[[0.0], [5.0]]]


def test_a_bonus_of_zero_names_what_to_give():
    with pytest.raises(InputError, match="above 0"):
        visit_bonus(np.zeros(1), bonus=0.0, most=1.0)
