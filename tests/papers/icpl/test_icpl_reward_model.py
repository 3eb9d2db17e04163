"""Constants of the method icpl_reward_model, read by the tests of every method (tests/papers)."""

from helpers.methods import made

SHORT = ["--fit-groups", "2"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


def test_the_reward_model_alone_is_the_reward():
    method = made("icpl_reward_model")
    assert len(method.stages) == 1 and len(method.learners) == 1
