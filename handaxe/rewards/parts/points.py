"""Points of calls on a screen.

Example:
    click {"x": 3, "y": 5} and click {"point": "3 5"} -> (3.0, 5.0)

Idea: agents of screens write a click as two numbers or as one point; rewards read both.
"""

from __future__ import annotations

import re
from typing import Any

from handaxe.core.records import ToolCall
from handaxe.rewards.parts.checks import is_number

__all__ = ["call_point", "parse_point"]

POINT = re.compile(r"\s*(-?\d{1,9}(?:\.\d{1,9})?)[\s,]+(-?\d{1,9}(?:\.\d{1,9})?)\s*", re.ASCII)


def parse_point(value: Any) -> tuple[float, float] | None:
    """Parse a point: two numbers in a text, or a list of two numbers. Return None for any other value.

    Example:
        "3 5" -> (3.0, 5.0);  [3, 5] -> (3.0, 5.0);  "3 5 7" -> None
    """
    if isinstance(value, str):
        found = POINT.fullmatch(value)
        return None if found is None else (float(found[1]), float(found[2]))
    if isinstance(value, list | tuple) and len(value) == 2 and all(is_number(one) for one in value):
        return float(value[0]), float(value[1])
    return None


def call_point(call: ToolCall) -> tuple[float, float] | None:
    """Return the point of a call, from its arguments x and y, or from its argument point; None without a point.

    Example:
        click {"x": 3, "y": 5} -> (3.0, 5.0);  click {"point": "3 5"} -> (3.0, 5.0);  click {"ref": 3} -> None
    """
    x, y = call.arguments.get("x"), call.arguments.get("y")
    if is_number(x) and is_number(y):
        return float(x), float(y)
    return parse_point(call.arguments.get("point"))
