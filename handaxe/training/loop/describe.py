"""JSON description of a run's arguments in recipe.json, and reading of earlier versions."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from types import FunctionType, MethodType
from typing import Any

__all__ = ["describe", "read_arguments"]

RENAMED: Mapping[str, str] = {"keep": "run", "pace": "async_config", "shape": "transform"}
"""Argument of `train` in version 0.1 -> its current name."""
MOVED: Mapping[str, tuple[str, str]] = {
    "epochs": ("updates", "epochs"),
    "minibatches": ("updates", "minibatches"),
    "micro_batch_rows": ("updates", "micro_batch_rows"),
    "enough": ("updates", "early_stop"),
    "annotate": ("updates", "annotate"),
    "workers": ("async_config", "workers"),
    "meanwhile": ("async_config", "overlap"),
    "on_ending": ("run", "on_ending"),
    "retries": ("run", "retries"),
    "others": ("run", "aux_policies"),
}
"""Argument of `train` in version 0.1 -> its current settings object and field."""


def describe(arguments: Mapping[str, Any], recipe: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Describe the arguments of a stage as JSON: numbers and strings unchanged, everything else by qualified name.

    Example:
        {"steps": 30, "credit": <function group_norm.<locals>.credit>}, {"name": "grpo"} ->
        {"recipe": {"name": "grpo"},
         "arguments": {"steps": 30, "credit": "handaxe.credit.group_norm.group_norm.<locals>.credit"}}
    """
    return {"recipe": recipe, "arguments": {name: _plain(value) for name, value in arguments.items()}}


def read_arguments(about: Mapping[str, Any]) -> dict[str, Any]:
    """Read the described arguments of `train` from recipe.json, in the names of this version.

    Example:
        {"arguments": {"pace": {"staleness": 2, "first_come": True}, "epochs": 2}} ->
        {"async_config": {"staleness": 2, "race": True}, "updates": {"epochs": 2}}
    """
    given: Any = about.get("arguments")
    found: dict[str, Any] = {}
    for name, value in given.items() if isinstance(given, Mapping) else ():
        if name not in MOVED and name not in ("evaluate", "eval_every"):
            found[RENAMED.get(name, name)] = dict(value) if isinstance(value, Mapping) else value
    if not isinstance(given, Mapping):
        return found
    for name, (holder, own) in MOVED.items():
        if name in given:
            _fields(found, holder).setdefault(own, given[name])
    if given.get("evaluate") is not None:
        evaluation = {"evaluate": given["evaluate"], "every": given.get("eval_every", 0)}
        _fields(found, "run").setdefault("evaluation", evaluation)
    asynchrony = found.get("async_config")
    if isinstance(asynchrony, dict) and "first_come" in asynchrony:
        asynchrony.setdefault("race", asynchrony.pop("first_come"))
    return found


def _fields(found: dict[str, Any], holder: str) -> dict[str, Any]:
    own = found.get(holder)
    if not isinstance(own, dict):
        own = found[holder] = {}
    return own


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if type(value) in (list, tuple):  # a named tuple may hold a world with all its tasks: its name is enough
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(vars(value))
    kind = value if isinstance(value, (type, FunctionType, MethodType)) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
