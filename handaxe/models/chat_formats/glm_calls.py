"""Calls of GLM 4.5 models: argument names and values between tags.

    <think>a product</think>
    Let me see.
    <tool_call>calculator
    <arg_key>expression</arg_key>
    <arg_value>12*34</arg_value>
    </tool_call>

A value of type string is written without quotation marks, every other value as JSON. The schema of the tool decides the
type of a value such as 12.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.records import ParsedTurn, ToolCall, ToolSchema
from handaxe.models.chat_formats.model_calls import (
    FoundCall,
    ModelCalls,
    arguments_json,
    join_thought,
    parsed_turn,
    split_thought,
)
from handaxe.models.chat_formats.tool_call_parsing import Piece, read_json

__all__ = ["GlmCalls"]

START, END = "<tool_call>", "</tool_call>"
PAIR = re.compile(r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


class GlmCalls(ModelCalls):
    """Calls with a pair of tags for each argument; a turn without thought begins with an empty thought.

    Args:
        tools: offered tools, for the types of values. Without a schema, a value that is JSON is parsed.

    Example:
        GlmCalls().read("<tool_call>now\n</tool_call>").calls gives (ToolCall("now", {}, "c0"),)
    """

    example = f"{START}<the tool>\n<arg_key><name of an argument></arg_key>\n<arg_value><value></arg_value>\n{END}"
    tokens = ("<think>", "</think>", START, END, "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
    writes_empty_thought = True

    def __init__(self, tools: Sequence[ToolSchema] = ()):
        self._tools = {tool.name: tool for tool in tools}

    def for_tools(self, tools: Sequence[ToolSchema]) -> "GlmCalls":
        """The syntax with the types of the tools' parameters."""
        return GlmCalls(tools)

    def write(self, content: str, calls: Sequence[ToolCall]) -> list[Piece]:
        """Write thought, text and calls, each on a new line."""
        thought, text = split_thought(content)
        pieces = [Piece("\n<think>", True), Piece(thought or "", False), Piece("</think>", True)]
        if text:
            pieces += [Piece("\n", True), Piece(text, False)]
        for call in calls:
            pieces += [Piece(f"\n{START}", True), Piece(call.name, False), Piece("\n", True)]
            for key, value in call.arguments.items():
                written = value if isinstance(value, str) else arguments_json(value)
                pieces += [Piece("<arg_key>", True), Piece(key, False), Piece("</arg_key>\n<arg_value>", True)]
                pieces += [Piece(written, False), Piece("</arg_value>\n", True)]
            pieces.append(Piece(END, True))
        return [piece for piece in pieces if piece.text]

    def read(self, text: str) -> ParsedTurn:
        """Parse thought, text and calls; a call without end tag or with other text between its tags is an error."""
        thought, _ = split_thought(text)
        begin = text.index("</think>") + len("</think>") if thought is not None else 0
        content, found = list[str](), list[FoundCall]()
        position = begin
        while (start := text.find(START, position)) >= 0:
            content.append(text[position:start].removesuffix("\n"))
            call, stop = self._read_one(text, start + len(START), f"c{len(found)}")
            found.append(FoundCall(call, start, stop))
            position = stop
        content.append(text[position:])
        errors = [f"{END} without {START}"] if END in content[-1] else []
        words = "".join(content)
        words = words.removeprefix("\n") if thought is not None else words
        return parsed_turn(text, join_thought(thought, words), found, errors)

    def _read_one(self, text: str, start: int, call_id: str) -> tuple[ToolCall | str, int]:
        """Parse a call from the position after its start tag."""
        head = re.compile(r"[^<\n]*").match(text, start)
        name = head[0].strip() if head else ""
        place, arguments = start + len(head[0]) if head else start, dict[str, Any]()
        while pair := PAIR.match(text, place):
            arguments[pair[1].strip()] = self._value(name, pair[1].strip(), pair[2])
            place = pair.end()
        close = re.compile(rf"\s*{END}").match(text, place)
        if close and name:
            return ToolCall(name, arguments, call_id), close.end()
        end = text.find(END, start)
        if end < 0:
            return f"the call is not closed with {END}", len(text)
        message = "a call is the name of a tool, then <arg_key>..</arg_key> and <arg_value>..</arg_value> pairs"
        return message, end + len(END)

    def _value(self, name: str, key: str, written: str) -> Any:
        """A value by the type in the tool's schema."""
        parameters: Mapping[str, Any] = self._tools[name].parameters if name in self._tools else {}
        properties = parameters.get("properties", {})
        schema = properties.get(key, {}) if isinstance(properties, Mapping) else {}
        if isinstance(schema, Mapping) and schema.get("type") == "string":
            return written
        try:
            return read_json(written)
        except ValueError:
            return written
