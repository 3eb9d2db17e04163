"""Constants of the method helpsteer2_preference, read by the tests of every method (tests/papers)."""

from helpers.methods import made

SHORT = ["--fit-groups", "2", "--fit-epochs", "1"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


def test_the_reward_model_is_fitted_once_and_frozen():
    method = made("helpsteer2_preference")
    assert len(method.stages) == 1 and len(method.learners) == 1
