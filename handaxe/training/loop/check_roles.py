"""Checks of `train`'s arguments before all else, with messages in terms of the user's code."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core import protocols
from handaxe.core.check_tasks import describe_value
from handaxe.core.errors import InputError
from handaxe.core.records import Sampling, Trajectory
from handaxe.training.loop.config import AsyncConfig, RunConfig, Updates
from handaxe.worlds.world import World

__all__ = ["check_roles"]


class _Called(NamedTuple):
    """Callable role: names of its arguments, its type in core.protocols, its result, and an example."""

    given: tuple[str, ...]
    kind: str
    gives: str
    made: str


CALLED: Mapping[str, _Called] = {
    "env": _Called(("task",), "EnvFactory", "an Env", "tool_chat([my_tool])"),
    "rollout": _Called(("attempt",), "Rollout", "a RolloutPlan", "linear(max_turns=3)"),
    "reward": _Called(("group",), "Reward", "Scores", "exact_match()"),
    "credit": _Called(("group", "scores"), "Credit", "Advantages", "group_norm()"),
    "loss": _Called(("policy", "batch"), "Loss", "a LossOut", "losses.policy(ratio=..., surrogate=..., reduction=...)"),
    "select": _Called(("rated",), "Selector", "the groups that train", "keep_all()"),
    "transform": _Called(("rated",), "AdvantageTransform", "the same groups", "batch_norm()"),
}


class _Object(NamedTuple):
    """Object role: its methods, and an example."""

    has: tuple[str, ...]
    made: str


OBJECTS: Mapping[str, _Object] = {
    "engine": _Object(("sample", "forward", "forward_backward", "optim_step", "save", "load"), "LocalEngine(model)"),
    "format": _Object(("start", "extend", "parse", "encode_turn", "decode"), "ChatTemplate(tokenizer)"),
    "tasks": _Object(("next", "observe"), "in_order(my_tasks)"),
}
INSTANCES: Mapping[str, type] = {"updates": Updates, "async_config": AsyncConfig, "run": RunConfig}
COUNTS = ("steps", "groups", "group_size", "seed")


def check_roles(arguments: Mapping[str, Any]) -> None:
    """Check the arguments of `train`, by name.

    Raises:
        InputError: an argument does not fit its role; the message describes it and gives a correct example.
    """
    for name, wanted in OBJECTS.items():
        if problem := _wrong_object(name, arguments[name], wanted):
            raise InputError(problem)
    for name, role in CALLED.items():
        missing = name == "transform" and arguments[name] is None
        if not missing and (problem := _wrong_call(name, arguments[name], role)):
            raise InputError(problem)
    for name, kind in INSTANCES.items():
        if not isinstance(arguments[name], kind):
            raise InputError(f"{name} is {describe_value(arguments[name])}: write {name}={kind.__name__}(...)")
    _check_values(arguments)


def _wrong_object(name: str, value: Any, wanted: _Object) -> str:
    """Problem of an object role's argument; "" without a problem."""
    if isinstance(value, type):
        return f"{name} is the class {value.__name__} itself: make one, such as {name}={wanted.made}"
    if not (lacking := [one for one in wanted.has if not hasattr(value, one)]):
        return ""
    if inspect.isroutine(value):
        return f"{name} is the function {value.__name__}, which was not called: write {name}={wanted.made}"
    if isinstance(value, tuple) and any(hasattr(one, "module") for one in value):
        return (
            f"{name} is the result of load, a model and its chat format: write model, chat = load(...), then "
            "engine=LocalEngine(model), format=chat"
        )
    described = "a model" if name == "engine" and hasattr(value, "module") else describe_value(value)
    return f"{name} is {described}, which has no {', '.join(lacking)}: write {name}={wanted.made}"


def _wrong_call(name: str, value: Any, role: _Called) -> str:
    """Problem of a callable role's argument; "" without a problem."""
    takes = f"{name} is called with {' and '.join(role.given)} and returns {role.gives}"
    if not callable(value):
        made = "world.env([my_tool])" if isinstance(value, World) else role.made
        return f"{name} is {describe_value(value)}, which cannot be called: {takes}; write {name}={made}"
    if isinstance(value, type) and name != "env":
        return f"{name} is the class {value.__name__} itself: make one, {name}={value.__name__}(...)"
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):  # functions written in C may lack one
        return ""
    named = getattr(value, "__name__", type(value).__name__)
    if _names(signature.return_annotation, role.kind):
        return f"{name} is {named} itself, which makes one: call it, such as {name}={named}(...)"
    if name == "reward" and _is_of_one(signature):
        return f"reward is {named}, which scores one rollout: write @outcome above it, or reward=outcome({named})"
    try:
        signature.bind(*role.given)
    except TypeError:
        return f"{name} is {named}{signature}, but {takes}: if it makes one, call it, such as {name}={role.made}"
    return ""


def _names(annotation: Any, kind: str) -> bool:
    """True if an annotation, evaluated or as text, is this type of core.protocols."""
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] == kind
    return annotation == getattr(protocols, kind)


def _is_of_one(signature: inspect.Signature) -> bool:
    """True if a reward's annotations take a trajectory or return a number."""
    first = next(iter(signature.parameters.values()), None)
    if signature.return_annotation in (float, bool, int, "float", "bool", "int"):
        return True
    return first is not None and (first.annotation in (Trajectory, "Trajectory") or first.name == "trajectory")


def _check_values(arguments: Mapping[str, Any]) -> None:
    for name in COUNTS:
        try:
            operator.index(arguments[name])
        except TypeError:
            raise InputError(f"{name} is {arguments[name]!r}; give a whole number") from None
    rate, sampling = arguments["learning_rate"], arguments["sampling"]
    learners = arguments["learners"]
    if not callable(rate) and (isinstance(rate, str) or not hasattr(rate, "__float__")):
        raise InputError(f"learning_rate is {rate!r}; give a number, or a function of the step")
    if not callable(sampling) and not isinstance(sampling, Sampling):
        raise InputError(
            f"sampling is {describe_value(sampling)}: write sampling=Sampling(temperature=1.0, max_tokens=64)"
        )
    if isinstance(learners, str) or not isinstance(learners, Sequence):
        raise InputError(f"learners is {describe_value(learners)}: write a list, such as learners=[...]")
    for one in learners:
        if not hasattr(one, "learn"):
            raise InputError(f"among the learners is {describe_value(one)}, which has no learn(groups, step=...)")
