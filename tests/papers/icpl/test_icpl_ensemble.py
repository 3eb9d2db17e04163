"""Constants of the method icpl_ensemble, read by the tests of every method (tests/papers)."""

from helpers.methods import made

SHORT = ["--fit-groups", "2", "--members", "2"]
ASKS_MODEL = True
LAB = "a stage fits its reward models on rollouts of the policy; see reward_model"
REMEMBERS = "asked pairs"


def test_the_ensemble_alone_is_the_reward():
    method = made("icpl_ensemble", "--members", "2")
    (judge,) = method.learners
    assert len(method.stages) == 1 and len(judge.members) == 2
