"""Constants of the method one_reward, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

SHORT = ["--questions", "9"]
LAB = "scores drawings of the world canvas alone"


@pytest.mark.parametrize("kept", [0.0, 1.0])
def test_the_method_changes_the_reward_alone(kept):
    method = made("one_reward", "--kept", str(kept))
    assert not method.learners and not method.stages
