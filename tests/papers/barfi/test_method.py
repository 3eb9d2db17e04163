"""Constants of the method barfi, read by the tests of every method (tests/papers)."""

from helpers.methods import made

ABOUT_REWARDS = True
MAY_TIE = "the heuristic pays a wrong answer without a call as much as correctness; the learned weight removes this"
REMEMBERS = "weights of reward channels"


def test_the_reward_reads_the_weight_of_the_learner():
    method = made("barfi")
    (weights,) = method.learners
    assert weights.weights == {"thrift": 1.0}
    assert made("barfi", "--weight", "0.25").learners[0].weights == {"thrift": 0.25}
