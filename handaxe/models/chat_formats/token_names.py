"""Search a text for the names of thousands of tokens in one pass.

Vocabularies have thousands of added tokens (Gemma 3: 6,415). A regular expression that lists all names would test
thousands of alternatives at every position. A regular expression built from a prefix tree of the names tests only
alternatives that match so far:

    <s>, </s>, <start>, <stop>      ->      <(?:/s>|s(?:>|t(?:art>|op>)))
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Occurrence", "TokenNames"]


class Occurrence(NamedTuple):
    """A name and its character range [start, stop), including stripped white space."""

    name: str
    start: int
    stop: int


class TokenNames:
    """Finds names from left to right, preferring the longest name at a position.

    Args:
        names: name -> (strips white space on its left, on its right).

    Attributes:
        pattern: regular expression of a name, without white space.

    Example:
        list(TokenNames({"<s>": (False, True)}).find("a<s> b")) gives [Occurrence("<s>", 1, 5)]
    """

    def __init__(self, names: Mapping[str, tuple[bool, bool]]):
        self._strips = {name: sides for name, sides in names.items() if any(sides)}
        self.pattern = re.compile(_pattern(_tree(names)) if names else "(?!)")

    def find(self, text: str) -> Iterator[Occurrence]:
        """All names in the text, without overlaps."""
        end = 0
        for match in self.pattern.finditer(text):
            start, stop = match.span()
            if start < end:  # overlaps white space stripped by the previous name
                continue
            left, right = self._strips.get(match[0], (False, False))
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
    """Prefix tree of the names; the key "" marks the end of a name."""
    root: dict[str, Any] = {}
    for name in names:
        node = root
        for character in name:
            node = node.setdefault(character, {})
        node[""] = {}
    return root


def _pattern(node: dict[str, Any]) -> str:
    """Regular expression of a subtree, longest names first."""
    branches = []
    for character, child in node.items():
        if not character:
            continue
        literal = re.escape(character)
        while len(child) == 1 and "" not in child:  # no branch: avoids deeper nesting
            ((character, child),) = child.items()
            literal += re.escape(character)
        branches.append(literal + _pattern(child))
    if not branches:
        return ""
    return f"(?:{'|'.join(branches)}){'?' if '' in node else ''}"
