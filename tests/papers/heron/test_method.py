"""Constants of the method heron, read by the tests of every method (tests/papers)."""

from helpers.methods import made

SHORT = ["--fit-groups", "2", "--fit-epochs", "1"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


def test_the_reward_model_learns_beside_the_policy():
    assert len(made("heron").learners) == 1 and len(made("heron").stages) == 1
