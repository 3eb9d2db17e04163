"""Finds a reward by name: a reward, a judge, a method in a world, or MODULE:ATTRIBUTE of the user's own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.import_string import attribute, exports, named
from handaxe.core.protocols import Reward
from handaxe.evaluation.attack_trials import judge_reward
from handaxe.methods.build import make_method, make_world
from handaxe.methods.catalog import find_method
from handaxe.methods.run_spec import RunSpec, run_template
from handaxe.rewards.permuted import permuted

__all__ = ["find_reward", "training_reward"]

PACKAGES = ("handaxe.rewards", "handaxe.judges")


def find_reward(name: str, *, like: RunSpec | None = None) -> Reward:
    """The reward of a name.

    Args:
        name: a reward or judge without required arguments, a method, or MODULE:ATTRIBUTE of a reward or judge. The
            reward of a judge is its score of a rollout.
        like: a method is built in the world of this run, with its options; None: in its own world.

    Raises:
        InputError: nothing has that name, or it needs arguments.
    """
    if ":" in name:
        return _as_reward(attribute(name, noun="reward", example="my_file:my_reward"), name)
    for package in PACKAGES:
        if name in exports(package):
            try:
                return _as_reward(named(name, package=package, noun="reward")(), name)
            except TypeError as error:
                raise InputError(
                    f"{name} needs arguments ({error}): build it in your own file and pass MODULE:ATTRIBUTE"
                ) from error
    if find_method(name) is not None:
        return training_reward(_in_world(name, like))
    raise InputError(f"there is no reward, judge or method {name!r}; `handaxe methods` and docs/rewards.md list them")


def training_reward(spec: RunSpec, *, run: Path | None = None) -> Reward:
    """The training reward of a method in the world of a run.

    Args:
        spec: of the run.
        run: its folder, from whose record a language model as judge answers; None asks it.
    """
    method = make_method(spec, make_world(spec))
    if run is not None:
        method.judge.recall(run)
    found = method.reward
    return permuted(found, seed=spec.settings.seed) if spec.settings.permute_rewards else found


def _in_world(name: str, like: RunSpec | None) -> RunSpec:
    if like is None:
        return run_template(name).default()
    saved: Mapping[str, Any] = {
        key: value for key, value in like.arguments().items() if key.partition(".")[0] == "world" and key != "world"
    }
    return replace(run_template(name, world=like.template.world.name).read(saved), files=like.files)


def _as_reward(found: Any, name: str) -> Reward:
    if callable(getattr(found, "score", None)):
        return judge_reward(found)
    if not callable(found):
        raise InputError(f"{name} is a {type(found).__name__}, and neither a reward nor a judge")
    reward: Reward = found
    return reward
