import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.skill_mimic.sampling_probabilities import sampling_probabilities

tasks = st.lists(st.tuples(st.floats(-2, 2), st.sampled_from("abc")), min_size=1, max_size=8)


def slow_probabilities(reward_N, class_N, alpha, sharpness):
    mean = {}
    for name in class_N:
        own = [reward for reward, other in zip(reward_N, class_N, strict=True) if other == name]
        mean[name] = sum(own) / len(own)
    classes = sum(math.exp(-sharpness * value) for value in mean.values())
    found = []
    for reward, name in zip(reward_N, class_N, strict=True):
        within = 0.0
        for other, of in zip(reward_N, class_N, strict=True):
            within += math.exp(-sharpness * other) if of == name else 0.0
        share = math.exp(-sharpness * mean[name]) / classes * math.exp(-sharpness * reward) / within
        found.append((1 - alpha) / len(reward_N) + alpha * share)
    return found


def test_one_class_by_hand():
    # e^-1 / (e^-1 + e^-4) = 1 / (1 + e^-3) = 0.952574
    found = sampling_probabilities([0.2, 0.8], "aa", alpha=0.5)
    assert found == pytest.approx([0.726287, 0.273713], abs=1e-6)


def test_two_classes_by_hand():
    # W: 1 / (1 + e^-5) = 0.993307, halved within class a
    found = sampling_probabilities([0.0, 0.0, 1.0], "aab", alpha=1.0)
    assert found == pytest.approx([0.4966536, 0.4966536, 0.0066929], abs=1e-6)


@given(tasks, st.floats(0, 1), st.floats(0.5, 8))
def test_probabilities_equal_a_slow_loop(tasks, alpha, sharpness):
    reward_N, class_N = zip(*tasks, strict=True)
    found = sampling_probabilities(np.array(reward_N), class_N, alpha=alpha, sharpness=sharpness)
    assert found == pytest.approx(slow_probabilities(reward_N, class_N, alpha, sharpness), abs=1e-6)
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert found.min() >= (1 - alpha) / len(tasks) - 1e-12


@given(tasks, st.floats(-1, 1))
def test_a_constant_added_to_all_rewards_changes_nothing(tasks, shift):
    reward_N, class_N = zip(*tasks, strict=True)
    moved = sampling_probabilities(np.array(reward_N) + shift, class_N)
    assert moved == pytest.approx(sampling_probabilities(np.array(reward_N), class_N), abs=1e-9)


@given(tasks)
def test_a_lower_reward_within_a_class_has_the_higher_probability(tasks):
    reward_N, class_N = zip(*tasks, strict=True)
    found = sampling_probabilities(np.array(reward_N), class_N)
    for n, one in enumerate(class_N):
        for m, other in enumerate(class_N):
            if one == other and reward_N[n] < reward_N[m]:
                assert found[n] >= found[m]


def test_alpha_0_is_uniform_and_large_rewards_do_not_overflow():
    assert sampling_probabilities([0.0, 5.0, 1e4], "abb", alpha=0.0).tolist() == [1 / 3] * 3
    assert sampling_probabilities([-1e4, 1e4], "ab", alpha=1.0).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "rewards, classes, knobs, word",
    [
        ([], "", {}, "a class a task"),
        ([0.1], "ab", {}, "a class a task"),
        ([math.nan], "a", {}, "finite"),
        ([0.1], "a", {"alpha": 1.1}, "give 0 to 1"),
        ([0.1], "a", {"sharpness": 0.0}, "above 0"),
    ],
)
def test_bad_input_raises(rewards, classes, knobs, word):
    with pytest.raises(InputError, match=word):
        sampling_probabilities(np.array(rewards), classes, **knobs)
