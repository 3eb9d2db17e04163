"""Canonical keys and printable forms of tool calls; every comparison of calls uses the same key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handaxe.core.records import ToolCall

__all__ = ["call_key", "format_call"]


def call_key(call: ToolCall) -> str:
    """Make a key that is equal for equal calls: same name and, as JSON, same arguments.

    The order of arguments and the call id do not count. 1 equals 1.0; neither equals true.

    Example:
        f(a=1, b=2) and f(b=2.0, a=1) have one key; f(a=1), f(a=true) and f(a="1") have three
    """
    return json.dumps([call.name, _canonical(call.arguments)], sort_keys=True, default=repr)


def format_call(call: ToolCall) -> str:
    """Write a call as Python source, for people and for hints.

    Example:
        f(a=1, b='x')
    """
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _canonical(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
