import pytest

from handaxe.core.errors import InputError
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.by_name import reward_by_name


def own(group):
    return exact_match()(group)


def test_rewards_are_found_in_the_library_and_in_modules():
    named = reward_by_name("exact_match")
    assert callable(named) and named.__qualname__ == exact_match().__qualname__
    assert reward_by_name(f"{__name__}:own") is own


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("exact_mach", "exact_match"),
        ("weighted", "the reward 'weighted' needs arguments"),
        ("handaxe.rewards.parts.by_name:__doc__", "no reward: give a function of a group"),
        ("handaxe.rewards.exact_match:exact_match", r"takes \(\*, extract, normalise\), and is called with \(group\)"),
    ],
)
def test_an_unknown_reward_is_an_error(name, message):
    with pytest.raises(InputError, match=message):
        reward_by_name(name)
