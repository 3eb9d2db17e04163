import itertools

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.policy_cliff.effective_reward import effective_reward


def test_two_rewards_match_the_example():
    found = effective_reward(np.array([[[1.0, 1.0]], [[0.0, 1.0]]]), np.array([[1.0], [-0.001]]))
    assert found == pytest.approx(np.array([[1.0, 0.999]]))


def test_weights_by_state_match_a_slow_loop():
    rng = np.random.default_rng(0)
    rewards, weights = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3))
    found = effective_reward(rewards, weights)
    for s, a in itertools.product(range(3), range(4)):
        assert found[s, a] == pytest.approx(sum(weights[k, s] * rewards[k, s, a] for k in range(2)), abs=1e-12)


def test_invalid_arguments_are_rejected():
    for weights in (np.zeros((2, 2)), np.full((2, 3), np.nan)):
        with pytest.raises(InputError, match="give"):
            effective_reward(np.zeros((2, 3, 4)), weights)
