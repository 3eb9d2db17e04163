"""What recipe.json says of a run: the arguments, and the roles by name."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from types import FunctionType, MethodType
from typing import Any

__all__ = ["describe"]


def describe(arguments: Mapping[str, Any], recipe: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Arguments of a stage as JSON facts: numbers and strings as they are, everything else by its qualified name.

    Example:
        {"steps": 30, "credit": <function group_norm.<locals>.credit>}, {"name": "grpo"} ->
        {"recipe": {"name": "grpo"},
         "arguments": {"steps": 30, "credit": "handaxe.credit.group_norm.group_norm.<locals>.credit"}}
    """
    return {"recipe": recipe, "arguments": {name: _plain(value) for name, value in arguments.items()}}


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
