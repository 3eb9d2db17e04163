"""Tool call parsing: write calls as JSON between tags, parse the calls of a sampled turn.

    The answer is near.                                                      text, outside calls
    <tool_call>
    {"name": "calculator", "arguments": {"expression": "12*34"}}             one call; further calls may follow
    </tool_call>

JSON nested deeper than MAX_NESTING is malformed. Parsing never raises: a malformed call becomes an error message in the
ParsedTurn, which the environment shows to the policy.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.ops.nested_values import MAX_NESTING, exceeds_depth

__all__ = [
    "CallSyntax",
    "Origin",
    "Piece",
    "TaggedCalls",
    "call_from_json",
    "decode_json",
    "json_error_text",
    "read_json",
    "skip_space",
]


class Piece(NamedTuple):
    """A piece of a turn's text. `tag` True: a tag of the call syntax, which may contain control tokens."""

    text: str
    tag: bool


class CallSyntax(Protocol):
    """Syntax of tool calls; `read(write(content, calls))` returns content and calls."""

    example: str
    """An example call, for the tool description in the prompt."""

    def write(self, content: str, calls: Sequence[ToolCall]) -> list[Piece]:
        """Write the text of an assistant turn."""
        ...

    def read(self, text: str) -> ParsedTurn:
        """Parse the text of a turn. `spans` are character positions, () if unknown. Never raises."""
        ...


class Origin(NamedTuple):
    """Arguments of a chat format on a tokenizer, for saving and rebuilding. `options` and `stop` belong to
    ChatTemplate."""

    tokenizer: Any
    calls: CallSyntax
    options: Mapping[str, Any] = {}
    stop: tuple[str, ...] = ()


class TaggedCalls:
    """Calls as JSON between two tags, as in Hermes and Qwen models; see the module.

    Calls inside <think>..</think> are ignored; thoughts stay in the text. A call ends at the end of its JSON, so that a
    string may contain the closing tag. Missing `arguments` mean no arguments; a string with a JSON object counts as
    that object. Call ids are c0, c1, ... within the turn.

    Args:
        start, end: the tags.

    Example:
        TaggedCalls().read('<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>').calls
        gives (ToolCall("now", {}, "c0"),)
    """

    def __init__(self, *, start: str = "<tool_call>", end: str = "</tool_call>"):
        self.start, self.end = start, end
        self.example = f'{start}\n{{"name": <the tool>, "arguments": <a JSON object>}}\n{end}'
        self._next = re.compile("|".join(map(re.escape, ("<think>", start, end))))

    def write(self, content: str, calls: Sequence[ToolCall]) -> list[Piece]:
        """Write the text, then each call on a new line."""
        pieces = [Piece(content, False)] if content else []
        for call in calls:
            line = "\n" if pieces else ""
            payload = json.dumps({"name": call.name, "arguments": dict(call.arguments)}, ensure_ascii=False)
            pieces += [Piece(f"{line}{self.start}\n", True), Piece(payload, False), Piece(f"\n{self.end}", True)]
        return pieces

    def read(self, text: str) -> ParsedTurn:
        """Parse the text outside calls, the calls, and one error message for each malformed call."""
        content = list[str]()
        calls = list[ToolCall]()
        errors = list[str]()
        spans = list[tuple[int, int]]()
        content_start = position = 0
        while match := self._next.search(text, position):
            if match[0] == "<think>":
                position = _thought_end(text, match.end())
                continue
            content.append(text[content_start : match.start()])
            if match[0] == self.end:
                errors.append(f"{self.end} without {self.start}")
                content_start = position = match.end()
                continue
            # The line break before a call belongs to the call.
            content[-1] = content[-1].removesuffix("\n")
            start = content_start + len(content[-1])
            parsed, content_start = self._parse_call(text, match.end(), f"c{len(calls)}")
            position = content_start
            if isinstance(parsed, ToolCall):
                calls.append(parsed)
                spans.append((start, content_start))
            else:
                errors.append(parsed)
        content.append(text[content_start:])
        return ParsedTurn("".join(content), tuple(calls), tuple(errors), text, tuple(spans))

    def _parse_call(self, text: str, start: int, call_id: str) -> tuple[ToolCall | str, int]:
        """Parse the call after an opening tag that ends at `start`; returns the call or an error message, and the
        position after the call."""
        json_start = skip_space(text, start)
        try:
            value, stop = decode_json(text, json_start)
        except ValueError as error:
            close = text.find(self.end, start)
            if close < 0:
                return f"the call is not closed with {self.end}", len(text)
            return f"the call is not JSON: {json_error_text(error, json_start)}", close + len(self.end)
        stop = skip_space(text, stop)
        if text.startswith(self.end, stop):
            return call_from_json(value, call_id), stop + len(self.end)
        close = text.find(self.end, stop)
        if close < 0:
            return f"the call is not closed with {self.end}", len(text)
        return f"the call has more than one JSON value before {self.end}", close + len(self.end)


def call_from_json(value: Any, call_id: str) -> ToolCall | str:
    """The call of a JSON value {"name": ..., "arguments": ...}, or an error message."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return 'a call is a JSON object with "name" (a string) and "arguments" (an object)'
    name, arguments = value["name"], value.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = decode_json(arguments, 0)[0]
        except ValueError:
            arguments = None
    if not isinstance(arguments, Mapping):
        return f"the arguments of {name!r} are not a JSON object"
    return ToolCall(name, arguments, call_id)


def read_json(text: str) -> Any:
    """Parse JSON as `json.loads`, with a limit on nesting.

    Raises:
        ValueError: the text is not JSON, or nests deeper than MAX_NESTING.
    """
    value, stop = _decode_json(text, skip_space(text, 0), JSON)
    stop = skip_space(text, stop)
    if stop < len(text):
        raise json.JSONDecodeError("Extra data", text, stop)
    return value


def decode_json(text: str, start: int) -> tuple[Any, int]:
    """Parse the JSON value at `start`; returns the value and its end position.

    Raises:
        ValueError: no JSON at `start`, NaN or an infinity, or deeper than MAX_NESTING.
    """
    return _decode_json(text, start, STRICT)


def _decode_json(text: str, start: int, decoder: json.JSONDecoder) -> tuple[Any, int]:
    """The JSON value at `start` and its end position. Raises no other error than ValueError."""
    try:
        value, stop = decoder.raw_decode(text, start)
        deep = exceeds_depth(value, MAX_NESTING)
    except json.JSONDecodeError as error:
        # The message must not depend on which limit is reached first, the decoder's or Python's stack.
        deep = _nesting(text, start, error.pos) > MAX_NESTING
        if not deep:
            raise
    except RecursionError:
        deep = True
    if deep:
        raise ValueError(f"it nests deeper than {MAX_NESTING} levels")
    return value, stop


def _nesting(text: str, start: int, stop: int) -> int:
    """The nesting depth of brackets in text[start:stop], outside strings."""
    deepest = depth = 0
    for match in BRACKETS.finditer(text, start, stop):
        if match[0] in ("[", "{"):
            depth += 1
            deepest = max(deepest, depth)
        elif match[0] in ("]", "}"):
            depth -= 1
    return deepest


BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
"""Matches a bracket or a whole string, which hides the brackets in it."""


def _not_json(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


JSON, STRICT = json.JSONDecoder(), json.JSONDecoder(parse_constant=_not_json)


def json_error_text(error: ValueError, start: int) -> str:
    """The error message of JSON that begins at `start`, with a position relative to the start."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {max(error.pos - start, 0)}"
    return str(error)


def skip_space(text: str, position: int) -> int:
    """The first position from `position` on that is no white space of JSON."""
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _thought_end(text: str, start: int) -> int:
    """The position after the closing tag of a thought; the end of the text for an unclosed thought."""
    close = text.find("</think>", start)
    return len(text) if close < 0 else close + len("</think>")
