"""When two calls are the same call: one answer for every part that compares calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handaxe.records import ToolCall

__all__ = ["call_key"]


def call_key(call: ToolCall) -> str:
    """A text that is equal for equal calls: the same name and, as JSON, the same arguments.

    The order in which arguments are written does not count, nor does the id; 1 is 1.0, and neither is true.

    Example:
        f(a=1, b=2) and f(b=2.0, a=1) are one call; f(a=1), f(a=true) and f(a="1") are three
    """
    return json.dumps([call.name, _plain(call.arguments)], sort_keys=True, default=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(own) for name, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(own) for own in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
