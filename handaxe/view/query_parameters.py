"""Parameters of a query of the pages: numbers, and the search for rollouts."""

from __future__ import annotations

import math
from collections.abc import Mapping

from handaxe.core.errors import InputError
from handaxe.view.record_search import Where

__all__ = ["Query", "parse_query", "whole_number"]

Query = Mapping[str, str]


def parse_query(query: Query) -> Where:
    """Parse the search parameters of a page.

    Raises:
        InputError: text instead of a number, a word that is too long, or an unknown outcome or fate.
    """
    return Where(
        text=query.get("text", ""),
        tool=query.get("tool", ""),
        outcome=query.get("outcome", ""),
        fate=query.get("fate", ""),
        task=query.get("task", ""),
        step=(_number(query, "first"), _number(query, "last")),
        score=(_number(query, "low"), _number(query, "high")),
        trained=None if not query.get("trained") else query["trained"] == "1",
    )


def whole_number(query: Query, name: str, default: int | None = None) -> int:
    """A parameter as a whole number; `default` for a missing one.

    Raises:
        InputError: the parameter is missing without a default, or is no whole number below 2**53.
    """
    found = _number(query, name)
    if found is None:
        if default is None:
            raise InputError(f"{name} is missing; give a whole number")
        return default
    if not found.is_integer() or abs(found) >= 2**53:
        raise InputError(f"{name} is {query[name][:40]!r}; give a whole number")
    return int(found)


def _number(query: Query, name: str) -> float | None:
    if not query.get(name):
        return None
    try:
        found = float(query[name])
    except ValueError:
        raise InputError(f"{name} is {query[name][:40]!r}; give a number") from None
    if not math.isfinite(found):
        raise InputError(f"{name} is {query[name]}; give a finite number")
    return found
