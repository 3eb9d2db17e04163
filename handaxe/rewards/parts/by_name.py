"""Rewards by name, for command lines and worlds from files."""

import inspect

from handaxe.core.errors import InputError
from handaxe.core.import_string import named
from handaxe.core.protocols import Reward
from handaxe.core.user_code import check_call

__all__ = ["reward_by_name"]


def reward_by_name(name: str) -> Reward:
    """Build an exported reward without required arguments, or import MODULE:ATTRIBUTE.

    Raises:
        InputError: no reward has that name, it needs arguments, or is no function.

    Example:
        reward_by_name("exact_match")
    """
    found = named(name, package="handaxe.rewards", noun="reward")
    if ":" in name:
        if not callable(found):
            raise InputError(f"{name} is {found!r}, no reward: give a function of a group that returns its scores")
        check_call(found, ("group",), name=f"the reward {name}")
        reward: Reward = found
        return reward
    needed = [p.name for p in inspect.signature(found).parameters.values() if p.default is p.empty]
    if needed:
        raise InputError(
            f"the reward {name!r} needs arguments ({', '.join(needed)}): build it in a file of your own and pass "
            "MODULE:ATTRIBUTE"
        )
    made: Reward = found()
    return made
