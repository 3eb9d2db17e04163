"""A reward by its name, for command lines and worlds out of a file."""

import inspect

from handaxe.core.errors import InputError
from handaxe.core.import_string import named
from handaxe.core.protocols import Reward

__all__ = ["reward_by_name"]


def reward_by_name(name: str) -> Reward:
    """The reward of a file of handaxe/rewards whose factory needs no argument, or what MODULE:ATTRIBUTE names.

    Raises:
        InputError: there is none of that name, it needs arguments, or is no function.

    Example:
        reward_by_name("exact_match")
    """
    found = named(name, package="handaxe.rewards", noun="reward")
    if ":" in name:
        if not callable(found):
            raise InputError(f"{name} is {found!r}, no reward: give a function of a group that returns its scores")
        reward: Reward = found
        return reward
    needed = [p.name for p in inspect.signature(found).parameters.values() if p.default is p.empty]
    if needed:
        raise InputError(
            f"the reward {name!r} needs arguments ({', '.join(needed)}): make it in a file of your own and name it by "
            "MODULE:ATTRIBUTE"
        )
    made: Reward = found()
    return made
