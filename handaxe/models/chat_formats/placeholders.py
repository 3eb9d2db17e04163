"""Placeholders for untrusted text: a chat template renders placeholders instead of the text."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence, Set
from typing import Any

from handaxe.core.records import Author, Message, ToolSchema
from handaxe.models.chat_formats.safe_encoder import THINKING, Part, SafeEncoder
from handaxe.ops.nested_values import iter_strings

__all__ = ["Placeholders"]


class Placeholders:
    """Placeholders of a conversation; equal text by equal authors has equal placeholders.

    A placeholder contains a quotation mark. Backslashes before the mark show how often the template serialised the
    placeholder to JSON, and the text is escaped as often.

    Args:
        encoder: defines the control tokens.
        messages, tools: all text to be hidden; placeholders occur in none of it.
    """

    def __init__(self, encoder: SafeEncoder, messages: Sequence[Message], tools: Sequence[ToolSchema]):
        self._encoder = encoder
        self._prefix = _unused_prefix("\n".join(iter_strings([*messages, *tools])))
        self._pattern = re.compile(rf'{self._prefix}(\\*)"(\d+);')
        self._images = [
            Part("", Author.TOOL if message.role == "tool" else Author.USER, False, image)
            for message in messages
            for image in (message.images if encoder.placeholder else ())
        ]
        self._numbers: dict[tuple[str, Author], int] = {}
        self._parts: list[Part] = []
        self._call_ids: dict[str, str] = {}

    def hide(self, parts: Sequence[Part]) -> str:
        """Text for the template: trusted parts unchanged, untrusted parts as placeholders within their white space."""
        return "".join(part.text if part.trusted else self._placeholder(part) for part in parts)

    def guard(self, value: Any) -> Any:
        """JSON for the template, with strings that contain a control token or a thought tag hidden."""
        if isinstance(value, str):
            risky = self._encoder.names.first(value) or self._encoder.markers.first(value)
            return self._placeholder(Part(value, trusted=False)) if risky else value
        if isinstance(value, dict):
            return {self.guard(key): self.guard(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.guard(inner) for inner in value]
        return value

    def call_id(self, name: str) -> str:
        """A call id of nine letters and digits, as the strictest templates require."""
        return self._call_ids.setdefault(name, f"call{len(self._call_ids):05d}")

    def parts(self, text: str, start: int = 0) -> list[Part]:
        """Split a rendered text from `start` on at its placeholders, and insert untrusted text and images."""
        images = iter(self._images[text.count(self._encoder.placeholder, 0, start) if self._images else 0 :])
        parts, end = list[Part](), start
        for match in self._pattern.finditer(text, start):
            hidden = self._parts[int(match[2])]
            parts += self._with_images(text[end : match.start()], images)
            parts.append(hidden._replace(text=_escape(hidden.text, len(match[1]))))
            end = match.end()
        return [*parts, *self._with_images(text[end:], images)]

    def missing_images(self, text: str) -> int:
        """Number of images that a rendered text lacks; below 0 if it has placeholders of images that do not exist."""
        return len(self._images) - text.count(self._encoder.placeholder) if self._encoder.placeholder else 0

    def _with_images(self, text: str, images: Iterator[Part]) -> list[Part]:
        """Text of the template, split at its placeholders of images."""
        if not self._images:
            return [Part(text)]
        first, *rest = text.split(self._encoder.placeholder)
        parts = [Part(first)]
        for piece in rest:
            parts += [next(images), Part(piece)]
        return parts

    def numbers(self, text: str) -> set[int]:
        """Numbers of the placeholders in a rendered text, for `contains`."""
        return {int(match[2]) for match in self._pattern.finditer(text)}

    def contains(self, content: str, numbers: Set[int]) -> bool:
        """True if the text of a user or a tool is among the placeholders with these numbers, or empty."""
        text = content.strip()
        authors = (Author.USER, Author.TOOL)
        return not text or any(self._numbers.get((text, author)) in numbers for author in authors)

    def text_after(self, text: str, content: str) -> str:
        """The rendered text after an assistant's text; "" if it is missing."""
        number = self._numbers.get((content.strip(), Author.TEMPLATE))
        return next((text[match.end() :] for match in self._pattern.finditer(text) if int(match[2]) == number), "")

    def content_marks(self, text: str, among: Sequence[str] | None = None) -> list[str]:
        """Thought tags and placeholders in order; with `among`, only placeholders listed there."""
        found = re.findall(f"{'|'.join(THINKING)}|{self._pattern.pattern.replace('(', '(?:')}", text)
        wanted = None if among is None else {*among, *THINKING}
        return [item for item in found if wanted is None or item in wanted]

    def _placeholder(self, part: Part) -> str:
        text = part.text.strip()
        if not text:
            return part.text
        start = part.text.index(text)
        number = self._numbers.setdefault((text, part.author), len(self._parts))
        if number == len(self._parts):
            self._parts.append(Part(text, part.author, False))
        return f'{part.text[:start]}{self._prefix}"{number};{part.text[start + len(text) :]}'


def _unused_prefix(text: str) -> str:
    """Find a prefix of placeholders that is absent from the text, with a pass over the text for each length."""
    for digits in itertools.count(4):
        used = {int(number) for number in re.findall(rf"Hx(\d{{{digits}}})", text)}
        free = next((n for n in range(10 ** (digits - 1), 10**digits) if n not in used), None)
        if free is not None:
            return f"Hx{free}"
    raise AssertionError("unreachable: a finite text leaves a prefix free")


def _escape(text: str, backslashes: int) -> str:
    """Escape the text for nested JSON strings, at the depth with `backslashes` backslashes before a quotation mark."""
    while backslashes:
        text, backslashes = json.dumps(text, ensure_ascii=False)[1:-1], backslashes // 2
    return text
