"""Finds the names of many tokens in a text at once.

Vocabularies hold thousands of added tokens (Gemma 3: 6,415). A regular expression that tries one name after the other
looks at every place of a text thousands of times; here names share their beginnings, so that it looks on only where a
name may still come of it:

    <s>, </s>, <start>, <stop>      ->      <(?:/s>|s(?:>|t(?:art>|op>)))
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Occurrence", "TokenNames"]


class Occurrence(NamedTuple):
    """A name and the characters [start, stop) that it takes, with the white space that it swallows."""

    name: str
    start: int
    stop: int


class TokenNames:
    """Finds names from left to right, the longest first where several begin at the same place.

    Args:
        names: each with whether it swallows the white space on its left and on its right.

    Attributes:
        pattern: finds the next name, without the white space.

    Example:
        list(TokenNames({"<s>": (False, True)}).find("a<s> b")) gives [Occurrence("<s>", 1, 5)]
    """

    def __init__(self, names: Mapping[str, tuple[bool, bool]]):
        self._swallows = {name: sides for name, sides in names.items() if any(sides)}
        self.pattern = re.compile(_pattern(_tree(names)) if names else "(?!)")

    def find(self, text: str) -> Iterator[Occurrence]:
        """Every name in the text; no two take the same character."""
        end = 0
        for match in self.pattern.finditer(text):
            start, stop = match.span()
            if start < end:  # it begins with white space that the one before has swallowed
                continue
            left, right = self._swallows.get(match[0], (False, False))
            while left and start > end and text[start - 1].isspace():
                start -= 1
            while right and stop < len(text) and text[stop].isspace():
                stop += 1
            end = stop
            yield Occurrence(match[0], start, stop)

    def first(self, text: str) -> Occurrence | None:
        """The first name in the text."""
        return next(self.find(text), None)


def _tree(names: Mapping[str, Any]) -> dict[str, Any]:
    """The names as a tree of characters; the key "" stands where a name may end."""
    root: dict[str, Any] = {}
    for name in names:
        node = root
        for character in name:
            node = node.setdefault(character, {})
        node[""] = {}
    return root


def _pattern(node: dict[str, Any]) -> str:
    """A regular expression for what the tree says from here on, the longest first."""
    branches = []
    for character, after in node.items():
        if not character:
            continue
        said = re.escape(character)
        while len(after) == 1 and "" not in after:  # nothing branches here: no deeper nesting
            ((character, after),) = after.items()
            said += re.escape(character)
        branches.append(said + _pattern(after))
    if not branches:
        return ""
    return f"(?:{'|'.join(branches)}){'?' if '' in node else ''}"
