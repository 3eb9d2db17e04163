"""Constants of the method editscore, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

SHORT = ["--edits", "4", "--passes", "1"]
ASKS_MODEL = True
LAB = "scores drawings of the world canvas alone"


@pytest.mark.parametrize("passes", [1, 4])
def test_the_method_changes_the_reward_alone(passes):
    method = made("editscore", "--passes", str(passes))
    assert not method.learners and not method.stages
