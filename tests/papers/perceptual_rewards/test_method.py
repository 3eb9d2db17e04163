"""Constants of the method perceptual_rewards, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

pytest.importorskip("minigrid")
SHORT = ["--episodes", "16"]
LAB = "a stage fits its classifiers on frozen states of the policy"
ASKS_MODEL = True


def test_a_stage_fits_the_judge_that_is_listed_as_learner():
    method = made("perceptual_rewards", "--segments", "4", "--features", "8")
    (judge,) = method.learners
    assert len(method.stages) == 1 and (judge._segments, judge._features) == (4, 8)
