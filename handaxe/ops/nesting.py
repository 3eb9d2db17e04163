"""How deep values nest, found without recursion: what a policy or a server wrote may nest deeper than any stack."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["DEEPEST", "deeper", "strings"]

DEEPEST = 64
"""Levels that JSON from outside, such as the arguments of a call, may nest: it is shown to templates, sent to servers
and recorded by code that recurses."""


def deeper(value: Any, levels: int) -> bool:
    """Whether lists, tuples and mappings nest deeper than `levels`.

    Example:
        deeper([[1]], 1) is True; deeper([[1]], 2), deeper("a", 0) are False.
    """
    layer = [value]
    for _ in range(levels):
        layer = [inner for one in layer for inner in _items(one)]
        if not layer:
            return False
    return any(isinstance(one, Mapping | list | tuple) for one in layer)


def strings(value: Any) -> Iterator[str]:
    """Every string in lists, tuples, mappings and objects with attributes, keys included; in no order."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            waiting += one
        else:
            waiting += getattr(one, "__dict__", {}).values()


def _items(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
