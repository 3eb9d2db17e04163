"""Constants of the method themis, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

SHORT = ["--fit-groups", "2", "--fit-epochs", "1"]
ASKS_MODEL = True
JUDGE_LEARNS_RESULTS = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


@pytest.mark.parametrize("words, plays", [([], True), (["--no-judge-tools"], False)])
def test_the_reward_model_alone_trains_the_policy(words, plays):
    method = made("themis", *words)
    (judge,) = method.learners
    assert judge._plays == plays and len(method.stages) == 1
