"""Constants of the method behaviour_specification, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

from handaxe.core.errors import InputError

ABOUT_REWARDS = True
REMEMBERS = "multipliers of behaviours"


def test_weights_of_the_reward_are_those_of_the_learner():
    (learner,) = made("behaviour_specification").learners
    # Multipliers of 1/4 each; the task has its own and that of the bootstrap constraint.
    assert [learner.weight(name)(0) for name in ("answer", "calls", "errors")] == pytest.approx([0.5, -0.25, -0.25])
    (fixed,) = made("behaviour_specification", "--no-learn", "--weight", "1").learners
    assert [fixed.weight(name)(0) for name in ("answer", "calls", "errors")] == [1, -1, -1]


def test_a_fixed_weight_beside_learned_multipliers_is_rejected():
    with pytest.raises(InputError, match="only without learning"):
        made("behaviour_specification", "--weight", "1")
