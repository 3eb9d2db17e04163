"""Placeholders for what others said, so that a chat template sees that there is something but not what."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence, Set
from typing import Any

from handaxe.core.records import Author, Message, ToolSchema
from handaxe.models.untrusted import THINKING, Part, SafeEncoder
from handaxe.ops.nesting import strings

__all__ = ["Placeholders"]


class Placeholders:
    """The placeholders of one conversation; the same words get the same one.

    A placeholder holds a quotation mark, by which it shows how often the template wrote its place as JSON: what it
    stands for is then escaped as often.

    Args:
        encoder: whose control tokens must not come from what others said.
        messages, tools: everything that will be hidden, to choose placeholders that occur in none of it.
    """

    def __init__(self, encoder: SafeEncoder, messages: Sequence[Message], tools: Sequence[ToolSchema]):
        self._encoder = encoder
        self._prefix = _unlike("\n".join(strings([*messages, *tools])))
        self._find = re.compile(rf'{self._prefix}(\\*)"(\d+);')
        self._known: dict[tuple[str, Author], int] = {}
        self._parts: list[Part] = []
        self._call_ids: dict[str, str] = {}

    def hide(self, parts: Sequence[Part]) -> str:
        """Text for the template: trusted parts as they are, others as placeholders between their own white space."""
        return "".join(part.text if part.trusted else self._hidden(part) for part in parts)

    def guard(self, value: Any) -> Any:
        """JSON for the template, every string that holds a control token or a tag of thoughts hidden."""
        if isinstance(value, str):
            risky = self._encoder.names.first(value) or self._encoder.markers.first(value)
            return self._hidden(Part(value, trusted=False)) if risky else value
        if isinstance(value, dict):
            return {self.guard(key): self.guard(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.guard(inner) for inner in value]
        return value

    def call_id(self, name: str) -> str:
        """Nine letters and digits for a call, which is what the strictest templates ask for."""
        return self._call_ids.setdefault(name, f"call{len(self._call_ids):05d}")

    def parts(self, text: str) -> list[Part]:
        """A rendered text with what the placeholders stand for, which is not trusted."""
        parts, end = [], 0
        for match in self._find.finditer(text):
            hidden = self._parts[int(match[2])]
            parts += [Part(text[end : match.start()]), hidden._replace(text=_escape(hidden.text, len(match[1])))]
            end = match.end()
        return [*parts, Part(text[end:])]

    def found(self, text: str) -> set[int]:
        """The numbers of the placeholders in a rendered text, for `is_among`."""
        return {int(match[2]) for match in self._find.finditer(text)}

    def is_among(self, content: str, found: Set[int]) -> bool:
        """Whether the words of a user or a tool are among the placeholders found in a text."""
        words = content.strip()
        return not words or any(self._known.get((words, who)) in found for who in (Author.USER, Author.TOOL))

    def after(self, text: str, content: str) -> str:
        """What follows an assistant's words in a rendered text; "" when they are not there."""
        known = self._known.get((content.strip(), Author.TEMPLATE))
        return next((text[match.end() :] for match in self._find.finditer(text) if int(match[2]) == known), "")

    def thoughts_and_words(self, text: str, among: Sequence[str] | None = None) -> list[str]:
        """Tags of thoughts and placeholders in order; with `among`, only placeholders that occur in it."""
        found = re.findall(f"{'|'.join(THINKING)}|{self._find.pattern.replace('(', '(?:')}", text)
        wanted = None if among is None else {*among, *THINKING}
        return [item for item in found if wanted is None or item in wanted]

    def _hidden(self, part: Part) -> str:
        words = part.text.strip()
        if not words:
            return part.text
        begin = part.text.index(words)
        number = self._known.setdefault((words, part.author), len(self._parts))
        if number == len(self._parts):
            self._parts.append(Part(words, part.author, False))
        return f'{part.text[:begin]}{self._prefix}"{number};{part.text[begin + len(words) :]}'


def _unlike(text: str) -> str:
    """The beginning of placeholders that does not occur in the text, found in one look at it for each length."""
    for digits in itertools.count(4):
        taken = {int(number) for number in re.findall(rf"Hx(\d{{{digits}}})", text)}
        free = next((n for n in range(10 ** (digits - 1), 10**digits) if n not in taken), None)
        if free is not None:
            return f"Hx{free}"
    raise AssertionError("a text is not endless")


def _escape(text: str, backslashes: int) -> str:
    """The text as it stands inside as many nested JSON strings as put that many backslashes before a quotation mark."""
    while backslashes:
        text, backslashes = json.dumps(text, ensure_ascii=False)[1:-1], backslashes // 2
    return text
