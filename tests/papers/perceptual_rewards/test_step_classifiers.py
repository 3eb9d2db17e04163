from math import exp, log, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.perceptual_rewards.step_classifiers import (
    FLOOR,
    StepClassifiers,
    combined_reward,
    discriminability,
    fit_classifiers,
)


def test_discriminability_equals_the_worked_example():
    """Means 1 and 0, deviations 0.1 and 0.1."""
    positive, negative = np.array([[0.9], [1.1]]), np.array([[-0.1], [0.1]])
    assert discriminability(positive, negative)[0] == pytest.approx(4.8, abs=1e-12)
    assert discriminability(positive, negative, alpha=1.0)[0] == pytest.approx(0.8, abs=1e-12)


def test_the_most_discriminative_features_are_selected():
    """Feature 1 separates the steps, feature 2 does so with noise, feature 0 does not."""
    features = np.array([[0.0, 0, 0], [1, 0, 1], [0, 5, 4], [1, 5, 5]])
    made = fit_classifiers(features, np.array([0, 0, 1, 1]), features=2)
    assert made.feature_KM.tolist() == [[1, 2], [1, 2]]
    assert made.mean_K2M.tolist() == [[[0, 0.5], [5, 4.5]], [[5, 4.5], [0, 0.5]]]
    assert made.std_K2M[0, 0].tolist() == [FLOOR, 0.5]


def test_probabilities_equal_the_worked_example_and_a_slow_loop():
    one = StepClassifiers(np.array([[0]]), np.array([[[1.0], [0.0]]]), np.ones((1, 2, 1)))
    assert one.probabilities(np.array([[1.0], [0.5]]))[:, 0].tolist() == pytest.approx([0.6224593, 0.5], abs=1e-7)
    rng = np.random.default_rng(0)
    step_T = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    features = rng.normal(size=(8, 5))
    made = fit_classifiers(features, step_T, features=3)
    found = made.probabilities(features)
    for t in range(8):
        for k in range(3):
            likelihood = [0.0, 0.0]
            for side in range(2):
                for m, d in enumerate(made.feature_KM[k]):
                    mean, std = made.mean_K2M[k, side, m], made.std_K2M[k, side, m]
                    density = exp(-0.5 * ((features[t, d] - mean) / std) ** 2) / (std * sqrt(2 * pi))
                    likelihood[side] += log(density)
            assert found[t, k] == pytest.approx(1 / (1 + exp(min(likelihood[1] - likelihood[0], 700))), abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_probabilities_and_rewards_are_finite_and_in_range(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(12, 4)) * rng.choice([0, 1, 1e6], 4)
    made = fit_classifiers(features, np.arange(12) % 3)
    found = made.probabilities(np.concatenate([features, features * 100]))
    assert ((found >= 0) & (found <= 1)).all()
    reward = combined_reward(found)
    assert (reward >= 0).all() and (reward <= 2 + 1e-12).all()


def test_the_reward_equals_the_worked_example_and_doubles_by_step():
    assert combined_reward(np.array([[0.3, 1, 0.5]]))[0] == pytest.approx(4 / 3, abs=1e-12)
    assert combined_reward(np.eye(4)).tolist() == [0, 0.5, 1, 2]
    slow = sum(value * 2 ** (i - 1) for i, value in enumerate([0.2, 0.4, 0.6, 0.8], start=1) if i >= 2) / 4
    assert combined_reward(np.array([[0.2, 0.4, 0.6, 0.8]]))[0] == pytest.approx(slow, abs=1e-12)


def test_bad_numbers_are_refused():
    with pytest.raises(InputError, match="equal width"):
        discriminability(np.zeros((2, 1)), np.zeros((0, 1)))
    with pytest.raises(InputError, match="K >= 2"):
        fit_classifiers(np.zeros((2, 1)), np.array([0, 0]))
    with pytest.raises(InputError, match="K >= 2"):
        fit_classifiers(np.zeros((2, 1)), np.array([0, 2]))
    with pytest.raises(InputError, match="two steps or more"):
        combined_reward(np.array([[0.5, 1.5]]))
