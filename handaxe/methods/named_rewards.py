"""Finds a reward by its name: a file of rewards/ or judges/, a recipe in a world, or MODULE:ATTRIBUTE of a user's."""

from collections.abc import Mapping
from typing import Any

from handaxe.attributes import attribute, named, names_in
from handaxe.errors import InputError
from handaxe.evaluation.lab import of_judge
from handaxe.methods.build import make_method, make_world
from handaxe.methods.chosen import Chosen, choice
from handaxe.methods.names import offered
from handaxe.rewards.shuffled import shuffled
from handaxe.slots import Reward

__all__ = ["is_recipe", "reward_named", "reward_of"]

ROOMS = ("handaxe.rewards", "handaxe.judges")


def reward_named(name: str, *, like: Chosen | None = None) -> Reward:
    """The reward that a name stands for.

    Args:
        name: a file of rewards/ or judges/ whose arguments all have defaults, a recipe, or MODULE:ATTRIBUTE of a reward
            or judge. A judge becomes a reward: its score of an attempt.
        like: a recipe is made in the world of this one, with its options; None: in its own.

    Raises:
        InputError: there is none of that name, or it needs arguments.
    """
    if ":" in name:
        return _asked(attribute(name, noun="reward", example="my_file:my_reward"), name)
    for room in ROOMS:
        if name in names_in(room):
            try:
                return _asked(named(name, room=room, noun="reward")(), name)
            except TypeError as error:
                raise InputError(
                    f"{name} takes arguments ({error}): make it in a file of yours and name MODULE:ATTRIBUTE"
                ) from error
    if is_recipe(name):
        return reward_of(_in_world(name, like))
    raise InputError(f"there is no reward, judge or recipe {name!r}; `handaxe recipes` and docs/rewards.md list them")


def is_recipe(name: str) -> bool:
    """Whether there is a recipe of this name."""
    return any(one.name == name for one in offered("recipes"))


def reward_of(chosen: Chosen) -> Reward:
    """The reward that a recipe trains on, in the world that was chosen for it."""
    found = make_method(chosen, make_world(chosen)).reward
    return shuffled(found, seed=chosen.setting.seed) if chosen.setting.shuffled else found


def _in_world(name: str, like: Chosen | None) -> Chosen:
    if like is None:
        return choice(name).default()
    saved: Mapping[str, Any] = {
        key: value for key, value in like.arguments().items() if key.partition(".")[0] == "world" and key != "world"
    }
    return choice(name, world=like.choice.world.name).read(saved)


def _asked(found: Any, name: str) -> Reward:
    """A reward as it is, a judge as one."""
    if callable(getattr(found, "score", None)):
        return of_judge(found)
    if not callable(found):
        raise InputError(f"{name} is a {type(found).__name__}, and neither a reward nor a judge")
    reward: Reward = found
    return reward
