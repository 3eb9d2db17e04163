import pytest

from handaxe.core.errors import InputError
from handaxe.rollouts.play import Rules


def test_max_turns_below_one_is_an_error():
    assert Rules(max_turns=1).max_turns == 1
    with pytest.raises(InputError, match="max_turns is 0; give 1 or more"):
        Rules(max_turns=0)
