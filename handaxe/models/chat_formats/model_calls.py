"""Call syntaxes of model families: base class, thoughts, and JSON of arguments.

A syntax of a family covers the whole text of a turn between the template's header and the end token: thought, text and
calls. Messages contain thoughts in one notation, for every family:

    <think>\nthought\n</think>\n\ntext
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from handaxe.core.records import ParsedTurn, ToolCall, ToolSchema
from handaxe.models.chat_formats.tool_call_parsing import (
    Piece,
    call_from_json,
    decode_json,
    json_error_text,
    skip_space,
)

__all__ = [
    "FoundCall",
    "ModelCalls",
    "arguments_json",
    "join_thought",
    "parsed_turn",
    "read_call",
    "split_thought",
    "unprefixed_id",
]

THOUGHT = re.compile(r"\s*<think>\n?(.*?)\n?</think>\n*", re.DOTALL)
TURN_PREFIX = re.compile(r"t\d+")
"""Prefix of call ids in trajectories."""


class FoundCall(NamedTuple):
    """A call, or the error message of a malformed call, with its character range [start, stop) in the turn."""

    call: ToolCall | str
    start: int
    stop: int


class ModelCalls:
    """Base class of call syntaxes of model families.

    Attributes:
        example: call for the tool description, if the template does not describe tools.
        tokens: names of control tokens inside turns, in addition to those that the template writes.
        writes_empty_thought: a turn without thought has an empty thought in its ids.
    """

    example: str
    tokens: tuple[str, ...] = ()
    writes_empty_thought = False

    def write(self, content: str, calls: Sequence[ToolCall]) -> list[Piece]:
        """Write a turn."""
        raise NotImplementedError

    def read(self, text: str) -> ParsedTurn:
        """Parse the text of a turn. Never raises."""
        raise NotImplementedError

    def for_tools(self, tools: Sequence[ToolSchema]) -> "ModelCalls":
        """The syntax with the schemas of the offered tools, for syntaxes without types of values."""
        del tools
        return self

    def call_id(self, call: ToolCall, number: int) -> str:
        """The id of a call as the template renders it.

        Args:
            call: with the id of the trajectory.
            number: position of the call in its turn.
        """
        del call
        return f"call{number:05d}"


def split_thought(content: str) -> tuple[str | None, str]:
    """Split the text of a message into thought, None without one, and text.

    Example:
        split_thought("<think>\nhm\n</think>\n\n2") gives ("hm", "2")
    """
    if (match := THOUGHT.match(content)) is None:
        return None, content
    return match[1], content[match.end() :]


def join_thought(thought: str | None, text: str) -> str:
    """The text of a message with a thought; the inverse of `split_thought`."""
    return text if not thought else f"<think>\n{thought}\n</think>\n\n{text}"


def arguments_json(arguments: Any) -> str:
    """JSON as chat templates write it."""
    return json.dumps(arguments, ensure_ascii=False)


def unprefixed_id(call: ToolCall) -> str:
    """The id of a call without the turn's prefix."""
    return TURN_PREFIX.sub("", call.id, count=1) if TURN_PREFIX.match(call.id) else call.id


def read_call(text: str, start: int, name: str, call_id: str) -> tuple[ToolCall | str, int]:
    """Parse JSON arguments at `start`; returns the call or an error message, and the position after the JSON."""
    start = skip_space(text, start)
    try:
        value, stop = decode_json(text, start)
    except ValueError as error:
        return f"the arguments of {name[:80]!r} are not JSON: {json_error_text(error, start)}", start
    return call_from_json({"name": name, "arguments": value}, call_id), stop


def parsed_turn(text: str, content: str, found: Sequence[FoundCall], errors: Sequence[str] = ()) -> ParsedTurn:
    """The result of parsing; call ids that occur twice are replaced by c0, c1, ..."""
    good = [one for one in found if isinstance(one.call, ToolCall)]
    calls = [one.call for one in good if isinstance(one.call, ToolCall)]
    if len({call.id for call in calls}) < len(calls):
        calls = [ToolCall(call.name, call.arguments, f"c{k}") for k, call in enumerate(calls)]
    bad = [one.call for one in found if isinstance(one.call, str)]
    return ParsedTurn(content, tuple(calls), (*bad, *errors), text, tuple((one.start, one.stop) for one in good))
