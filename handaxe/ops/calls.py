"""When two calls are the same call: one answer for every part that compares calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handaxe.core.records import ToolCall

__all__ = ["call_key", "told_call"]


def call_key(call: ToolCall) -> str:
    """A text that is equal for equal calls: the same name and, as JSON, the same arguments.

    The order in which arguments are written does not count, nor does the id; 1 is 1.0, and neither is true.

    Example:
        f(a=1, b=2) and f(b=2.0, a=1) are one call; f(a=1), f(a=true) and f(a="1") are three
    """
    return json.dumps([call.name, _plain(call.arguments)], sort_keys=True, default=repr)


def told_call(call: ToolCall) -> str:
    """A call in words, for people and as a hint.

    Example:
        f(a=1, b='x')
    """
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(own) for name, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(own) for own in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
