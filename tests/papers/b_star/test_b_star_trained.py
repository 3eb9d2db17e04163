"""Constants of the method b_star_trained, read by the tests of every method (tests/papers), and its stages."""

from helpers.methods import made

SHORT = ["--fit-groups", "2", "--fit-epochs", "1", "--base.rounds", "1", "--base.tasks", "2", "--base.tries", "2"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


def test_the_process_reward_model_is_fitted_before_the_rounds_and_frozen():
    method, base = made("b_star_trained"), made("b_star")
    assert len(method.stages) == len(base.stages) + 1 and method.stages[1:] == method.stages[-len(base.stages) :]
    assert len(method.learners) == len(base.learners) + 1
