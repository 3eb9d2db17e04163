"""Constants of the method tps_pilot, read by the tests of every method (tests/papers), and its options."""

import pytest
from helpers.methods import made

from handaxe.core.errors import InputError

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
ABOUT_REWARDS = True


def test_a_world_without_time_of_calls_is_refused():
    with pytest.raises(InputError, match="choose --world compound_tools"):
        made("tps_pilot", "--world", "arithmetic")
