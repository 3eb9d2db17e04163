"""How a policy writes a tool call as text, and how such text is read.

    The answer is near.                                                      text, outside calls
    <tool_call>
    {"name": "calculator", "arguments": {"expression": "12*34"}}             one call; more may follow
    </tool_call>

JSON that nests deeper than DEEPEST is malformed. Reading never raises: what a policy got wrong is an error message in
the ParsedTurn, for the environment to show it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.ops.nesting import DEEPEST, deeper

__all__ = ["CallSyntax", "Origin", "Piece", "TaggedCalls", "json_call", "read_json"]


class Piece(NamedTuple):
    """Text of a call. `tag` True where it is the syntax's own, whose tokens may be control tokens."""

    text: str
    tag: bool


class CallSyntax(Protocol):
    """A way to write calls; `read(write(content, calls))` gives content and calls back."""

    example: str
    """What a call looks like, for telling a policy."""

    def write(self, content: str, calls: Sequence[ToolCall]) -> list[Piece]:
        """The text of an assistant's turn."""
        ...

    def read(self, text: str) -> ParsedTurn:
        """What a turn's text means. `spans` are of characters, () where they are not told. Never raises."""
        ...


class Origin(NamedTuple):
    """What a chat format on a tokenizer was made from, so that it can be kept and made again. `options` and `stop` are
    those of ChatTemplate."""

    tokenizer: Any
    calls: CallSyntax
    options: Mapping[str, Any] = {}
    stop: tuple[str, ...] = ()


class TaggedCalls:
    """JSON between two tags, as Hermes and Qwen models write it; see the module.

    Calls inside <think>..</think> are thoughts and are not read. The thoughts stay in the text. A string may hold the
    closing tag: a call ends where its JSON ends. `arguments` left out means none; a string holding a JSON object is
    taken as that object. Call ids are c0, c1, ... within the turn.

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
        """The text, then each call on a new line."""
        pieces = [Piece(content, False)] if content else []
        for call in calls:
            line = "\n" if pieces else ""
            payload = json.dumps({"name": call.name, "arguments": dict(call.arguments)}, ensure_ascii=False)
            pieces += [Piece(f"{line}{self.start}\n", True), Piece(payload, False), Piece(f"\n{self.end}", True)]
        return pieces

    def read(self, text: str) -> ParsedTurn:
        """Text outside calls, the calls, and one message for each that is malformed."""
        outside = list[str]()
        calls = list[ToolCall]()
        errors = list[str]()
        spans = list[tuple[int, int]]()
        begin = at = 0
        while match := self._next.search(text, at):
            if match[0] == "<think>":
                at = _after_thought(text, match.end())
                continue
            outside.append(text[begin : match.start()])
            if match[0] == self.end:
                errors.append(f"{self.end} without {self.start}")
                begin = at = match.end()
                continue
            # A call begins on a line of its own, and that line break belongs to the call.
            outside[-1] = outside[-1].removesuffix("\n")
            start = begin + len(outside[-1])
            made, begin = self._call(text, match.end(), f"c{len(calls)}")
            at = begin
            if isinstance(made, ToolCall):
                calls.append(made)
                spans.append((start, begin))
            else:
                errors.append(made)
        outside.append(text[begin:])
        return ParsedTurn("".join(outside), tuple(calls), tuple(errors), text, tuple(spans))

    def _call(self, text: str, start: int, call_id: str) -> tuple[ToolCall | str, int]:
        """The call whose opening tag ends at `start`, or what is wrong with it, and where reading goes on."""
        begin = _skip_space(text, start)
        try:
            value, stop = _read_json(text, begin, STRICT)
        except ValueError as error:
            close = text.find(self.end, start)
            if close < 0:
                return f"the call is not closed with {self.end}", len(text)
            return f"the call is not JSON: {_words(error, begin)}", close + len(self.end)
        stop = _skip_space(text, stop)
        if text.startswith(self.end, stop):
            return json_call(value, call_id), stop + len(self.end)
        close = text.find(self.end, stop)
        if close < 0:
            return f"the call is not closed with {self.end}", len(text)
        return f"the call has more than one JSON value before {self.end}", close + len(self.end)


def json_call(value: Any, call_id: str) -> ToolCall | str:
    """The call that {"name": ..., "arguments": ...} means, or what is wrong with it."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return 'a call is a JSON object with "name" (a string) and "arguments" (an object)'
    name, arguments = value["name"], value.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = _read_json(arguments, 0, STRICT)[0]
        except ValueError:
            arguments = None
    if not isinstance(arguments, Mapping):
        return f"the arguments of {name!r} are not a JSON object"
    return ToolCall(name, arguments, call_id)


def read_json(text: str) -> Any:
    """What `json.loads` gives.

    Raises:
        ValueError: the text is not JSON, or nests deeper than DEEPEST.
    """
    value, stop = _read_json(text, _skip_space(text, 0), JSON)
    stop = _skip_space(text, stop)
    if stop < len(text):
        raise json.JSONDecodeError("Extra data", text, stop)
    return value


def _read_json(text: str, start: int, decoder: json.JSONDecoder) -> tuple[Any, int]:
    """The JSON value at `start` and where it ends. Raises ValueError, whatever the text holds."""
    try:
        value, stop = decoder.raw_decode(text, start)
        deep = deeper(value, DEEPEST)
    except json.JSONDecodeError as error:
        # Whether the decoder or Python's stack gave up first must not change what the policy reads.
        deep = _opened(text, start, error.pos) > DEEPEST
        if not deep:
            raise
    except RecursionError:
        deep = True
    if deep:
        raise ValueError(f"it nests deeper than {DEEPEST} levels")
    return value, stop


def _opened(text: str, start: int, stop: int) -> int:
    """The most brackets that are open at once in text[start:stop], those in strings not counted."""
    most = now = 0
    for match in BRACKETS.finditer(text, start, stop):
        if match[0] in ("[", "{"):
            now += 1
            most = max(most, now)
        elif match[0] in ("]", "}"):
            now -= 1
    return most


BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
"""Finds brackets and, so as to pass over those in it, a whole string."""


def _not_json(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


JSON, STRICT = json.JSONDecoder(), json.JSONDecoder(parse_constant=_not_json)


def _words(error: ValueError, start: int) -> str:
    """What is wrong, and where, counted from the beginning of the call's JSON."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {max(error.pos - start, 0)}"
    return str(error)


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _after_thought(text: str, start: int) -> int:
    """Where the thought that began before `start` ends; the end of the text when it does not."""
    close = text.find("</think>", start)
    return len(text) if close < 0 else close + len("</think>")
