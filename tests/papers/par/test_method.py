"""Constants of the method par, read by the tests of every method (tests/papers)."""

from helpers.methods import made

SHORT = ["--fit-groups", "2", "--train-tasks", "4"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


def test_the_reward_model_never_learns_in_the_loop():
    method = made("par")
    assert len(method.stages) == 2 and len(method.learners) == 2
    assert len(method.tasks(method.world.tasks("train", 60, 0), 0).tasks) == 48
