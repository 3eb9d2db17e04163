import pytest

from handaxe.core.errors import InputError
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.by_name import reward_by_name


def test_a_reward_of_the_library_and_one_of_a_module():
    named = reward_by_name("exact_match")
    assert callable(named) and named.__qualname__ == exact_match().__qualname__
    assert reward_by_name("handaxe.rewards.exact_match:exact_match") is exact_match


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("exact_mach", "exact_match"),
        ("graded_call", "the reward 'fewer_calls' needs arguments"),
        ("handaxe.rewards.parts.by_name:__doc__", "no reward: give a function of a group"),
    ],
)
def test_what_is_no_reward_is_told(name, message):
    with pytest.raises(InputError, match=message):
        reward_by_name(name)
