"""Parses the query of `handaxe trajectories --where`."""

import re
from typing import Any

from handaxe.core.errors import InputError
from handaxe.view.record_search import Bounds, Where

__all__ = ["parse_where"]

PART = re.compile(r'(?:(?P<key>[a-z]+):)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')
NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?"
RANGE = re.compile(rf"(?P<low>{NUMBER})?\.\.(?P<high>{NUMBER})?")
BOUND = re.compile(rf"(?P<sign>>=|<=)?(?P<bound>{NUMBER})")


def parse_where(text: str) -> Where:
    """Parse a query: words and "phrases" of the conversation, and fields of `Where` with values.

        step:4   step:3..9   step:5..   score:>=0.5   score:0..0.2   outcome:incorrect   tool:search   task:"a b"
        fate:unselected   trained:no

    A word before a colon other than a field is text of the conversation.

    Raises:
        InputError: a field has a wrong value, or appears twice.

    Example:
        'tool:search step:3.. http://x "no results"' ->
        Where(tool="search", step=(3, None), text='http://x "no results"')
    """
    found: dict[str, Any] = {}
    words: list[str] = []
    for part in PART.finditer(text):
        key, phrase = part["key"], part["phrase"]
        value = part["word"] if phrase is None else phrase
        if key in found:
            raise InputError(f"{key}: appears twice; give it once")
        if key in ("step", "score"):
            found[key] = _bounds(key, value)
        elif key == "group":
            if not value.isdecimal():
                raise InputError(f"group:{value} is not the row of a group; give a number, such as group:7")
            found[key] = int(value)
        elif key == "trained":
            if value not in ("yes", "no"):
                raise InputError(f"trained:{value} is not valid; give trained:yes or trained:no")
            found[key] = value == "yes"
        elif key in ("outcome", "fate", "tool", "task"):
            found[key] = value
        else:
            words.append(part[0] if phrase is None else f'"{phrase}"')
    return Where(text=" ".join(words), **found)


def _bounds(key: str, value: str) -> Bounds:
    if whole := RANGE.fullmatch(value):
        return tuple(None if end is None else float(end) for end in (whole["low"], whole["high"]))  # type: ignore
    if one := BOUND.fullmatch(value):
        bound = float(one["bound"])
        return {">=": (bound, None), "<=": (None, bound)}.get(one["sign"] or "", (bound, bound))
    raise InputError(f"{key}:{value} is not a range; give {key}:3, {key}:3..9, {key}:>=3 or {key}:<=9")
