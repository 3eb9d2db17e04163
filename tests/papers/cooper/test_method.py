"""Constants of the method cooper, read by the tests of every method (tests/papers)."""

from helpers.methods import made

SHORT = ["--fit-groups", "2"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


def test_the_rule_never_trains_the_policy():
    """Its weight in the reward is 0; the learner has it as a channel."""
    assert len(made("cooper").learners) == 2 and len(made("cooper").stages) == 1
