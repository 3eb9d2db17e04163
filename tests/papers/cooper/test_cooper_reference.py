"""Constants of the method cooper_reference, read by the tests of every method (tests/papers), and its parts."""

from helpers.methods import made

from handaxe.papers.cooper.answer_verifier import AnswerVerifier

SHORT = ["--fit-groups", "2"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"
REMEMBERS = "weights and moments of the reward model"
RESUMED = ["--fit-groups", "2", "--fit-epochs", "1"]


def test_it_is_cooper_with_the_reference():
    for method in (made("cooper_reference"), made("cooper", "--reads-reference")):
        verifier, gap = method.learners
        assert isinstance(verifier, AnswerVerifier) and len(method.stages) == 1
        assert type(gap).__name__ == "RewardGap"
