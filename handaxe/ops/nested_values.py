"""Depth and strings of nested values, computed without recursion: untrusted JSON may exceed the recursion limit."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["MAX_NESTING", "exceeds_depth", "iter_strings"]

MAX_NESTING = 64
"""Largest nesting of JSON from outside, such as a call's arguments, in levels. Templates, servers and the record
process such JSON by recursion."""


def exceeds_depth(value: Any, levels: int) -> bool:
    """Test whether lists, tuples and mappings nest deeper than `levels`.

    Example:
        exceeds_depth([[1]], 1) is True; exceeds_depth([[1]], 2), exceeds_depth("a", 0) are False.
    """
    layer = [value]
    for _ in range(levels):
        layer = [inner for outer in layer for inner in _items(outer)]
        if not layer:
            return False
    return any(isinstance(inner, Mapping | list | tuple) for inner in layer)


def iter_strings(value: Any) -> Iterator[str]:
    """Iterate over all strings in lists, tuples, mappings and objects with attributes, keys included, unordered."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            stack += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            stack += item
        else:
            stack += getattr(item, "__dict__", {}).values()


def _items(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
