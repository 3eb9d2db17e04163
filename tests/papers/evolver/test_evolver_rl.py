"""Constants of the method evolver_rl, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

from handaxe.core.errors import InputError

REMEMBERS = "principles"


def test_the_memory_of_the_tool_is_that_of_the_learner():
    method = made("evolver_rl")
    (learner,) = method.learners
    (memory,) = [one for one in method.world.tools if hasattr(one, "store")]
    assert learner.store is memory.store


def test_a_world_without_memory_is_refused():
    with pytest.raises(InputError, match="choose --world principled_hops"):
        made("evolver_rl", "--world", "arithmetic")
