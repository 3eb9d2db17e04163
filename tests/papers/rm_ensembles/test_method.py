"""Constants of the method rm_ensembles, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

SHORT = ["--fit-groups", "2", "--members", "2"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


@pytest.mark.parametrize("members", [1, 3])
def test_one_more_reward_model_scores_and_trains_nothing(members):
    method = made("rm_ensembles", "--members", str(members))
    (every,) = method.learners
    assert len(every.members) == members + 1
