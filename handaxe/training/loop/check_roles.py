"""What `train` is handed over, looked at before anything else and told in a user's words."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core import protocols as slots
from handaxe.core.check_tasks import what_it_is
from handaxe.core.errors import InputError
from handaxe.core.records import Sampling, Trajectory
from handaxe.training.loop.config import AsyncConfig, RunConfig
from handaxe.worlds.world import World

__all__ = ["check_roles"]


class _Called(NamedTuple):
    """A role that is called. `given`: with what; `kind`: its type in slots; `gives`: what comes back; `made`: how one
    is made."""

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
    "shape": _Called(("rated",), "Shape", "the same groups", "batch_norm()"),
}


class _Object(NamedTuple):
    """A role that is an object. `has`: what is asked of it; `made`: how one is made."""

    has: tuple[str, ...]
    made: str


OBJECTS: Mapping[str, _Object] = {
    "engine": _Object(("sample", "forward", "forward_backward", "optim_step", "save", "load"), "LocalEngine(model)"),
    "format": _Object(("start", "extend", "parse", "encode_turn", "decode"), "ChatTemplate(tokenizer)"),
    "tasks": _Object(("next", "observe"), "in_order(my_tasks)"),
}
INSTANCES: Mapping[str, type] = {"pace": AsyncConfig, "keep": RunConfig}
COUNTS = ("steps", "groups", "group_size", "epochs", "minibatches", "micro_batch_rows", "retries", "eval_every", "seed")


def check_roles(arguments: Mapping[str, Any]) -> None:
    """Look at the arguments of `train`, by name.

    Raises:
        InputError: one is not what its name stands for; the message says what it is, and what to write.
    """
    for name, wanted in OBJECTS.items():
        if said := _wrong_object(name, arguments[name], wanted):
            raise InputError(said)
    for name, role in CALLED.items():
        if (name != "shape" or arguments[name] is not None) and (said := _wrong_call(name, arguments[name], role)):
            raise InputError(said)
    for name, kind in INSTANCES.items():
        if not isinstance(arguments[name], kind):
            raise InputError(f"{name} is {what_it_is(arguments[name])}: write {name}={kind.__name__}(...)")
    _check_values(arguments)


def _wrong_object(name: str, value: Any, wanted: _Object) -> str:
    """What is wrong with a role that is an object; "" when nothing is."""
    if isinstance(value, type):
        return f"{name} is the class {value.__name__} itself: make one, such as {name}={wanted.made}"
    if not (lacking := [one for one in wanted.has if not hasattr(value, one)]):
        return ""
    if inspect.isroutine(value):
        return f"{name} is the function {value.__name__}, which was not called: write {name}={wanted.made}"
    if isinstance(value, tuple) and any(hasattr(one, "module") for one in value):
        return (
            f"{name} is what load gave, a model and its chat format: write model, chat = load(...), then "
            "engine=LocalEngine(model), format=chat"
        )
    what = "a model" if name == "engine" and hasattr(value, "module") else what_it_is(value)
    return f"{name} is {what}, which has no {', '.join(lacking)}: write {name}={wanted.made}"


def _wrong_call(name: str, value: Any, role: _Called) -> str:
    """What is wrong with a role that is called; "" when nothing is."""
    takes = f"{name} is called with {' and '.join(role.given)} and gives {role.gives}"
    if not callable(value):
        made = "world.env([my_tool])" if isinstance(value, World) else role.made
        return f"{name} is {what_it_is(value)}, which cannot be called: {takes}; write {name}={made}"
    if isinstance(value, type) and name != "env":
        return f"{name} is the class {value.__name__} itself: make one, {name}={value.__name__}(...)"
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):  # what is written in C does not always say
        return ""
    who = getattr(value, "__name__", type(value).__name__)
    if _names(signature.return_annotation, role.kind):
        return f"{name} is {who} itself, which makes one: call it, such as {name}={who}(...)"
    if name == "reward" and _is_of_one(signature):
        return f"reward is {who}, which scores one attempt: write @outcome above it, or reward=outcome({who})"
    try:
        signature.bind(*role.given)
    except TypeError:
        return f"{name} is {who}{signature}, but {takes}: if it makes one, call it, such as {name}={role.made}"
    return ""


def _names(annotation: Any, kind: str) -> bool:
    """Whether an annotation, evaluated or not, is this type of slots."""
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] == kind
    return annotation == getattr(slots, kind)


def _is_of_one(signature: inspect.Signature) -> bool:
    """Whether a reward says that it takes a trajectory, or gives a number."""
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
    if not callable(rate) and (isinstance(rate, str) or not hasattr(rate, "__float__")):
        raise InputError(f"learning_rate is {rate!r}; give a number, or a function of the step")
    if not callable(sampling) and not isinstance(sampling, Sampling):
        raise InputError(f"sampling is {what_it_is(sampling)}: write sampling=Sampling(temperature=1.0, max_tokens=64)")
    for name in ("annotate", "learners"):
        if isinstance(arguments[name], str) or not isinstance(arguments[name], Sequence):
            inside = repr(arguments[name]) if isinstance(arguments[name], str) else "..."
            raise InputError(f"{name} is {what_it_is(arguments[name])}: write a list, such as {name}=[{inside}]")
    for one in arguments["learners"]:
        if not hasattr(one, "learn"):
            raise InputError(f"among the learners is {what_it_is(one)}, which has no learn(groups, step=...)")
    workers, evaluate = arguments["workers"], arguments["evaluate"]
    if not (hasattr(workers, "submit") or (isinstance(workers, int) and workers >= 1)):
        raise InputError(f"workers is {workers!r}; give a number of threads from 1, or who carries out requests")
    if evaluate is not None and not callable(evaluate):
        raise InputError(
            f"evaluate is {what_it_is(evaluate)}, which cannot be called: give a function (engine, steps done)"
        )
