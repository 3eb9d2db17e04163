"""Calls as JSON without closing tag, as in Llama and Mistral models.

{"name": "calculator", "parameters": {"expression": "12*34"}}                                     Llama 3.1
<|python_start|>text<|python_end|>{"name": "calculator", "parameters": {...}}                     Llama 4
[TOOL_CALLS][{"name": "calculator", "arguments": {...}, "id": "9TVuNlzpW"}]                       Mistral
"""

import re
from collections.abc import Sequence

from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.models.chat_formats.model_calls import FoundCall, ModelCalls, arguments_json, parsed_turn, unprefixed_id
from handaxe.models.chat_formats.tool_call_parsing import (
    Piece,
    call_from_json,
    decode_json,
    json_error_text,
    skip_space,
)

__all__ = ["BareCalls", "ListedCalls"]

CALL = re.compile(r'(?:^|(?<=\n)|(?<=>))[ \t]*\{\s*"(?:name|type|parameters)"\s*:')
"""Start of a call: a JSON object at the start of a line, or after a control token."""
PYTHON = "<|python_tag|>"
NINE = re.compile("[A-Za-z0-9]{9}")


class BareCalls(ModelCalls):
    """Calls of Llama models: JSON objects with "name" and "parameters" or "arguments", at the end of a turn.

    Args:
        start, end: tokens around the text of a turn with calls (Llama 4); "" for none.

    Example:
        BareCalls().read('{"name": "now", "parameters": {}}').calls gives (ToolCall("now", {}, "c0"),)
    """

    example = '{"name": <the tool>, "parameters": <a JSON object>}'

    def __init__(self, *, start: str = "", end: str = ""):
        self._start, self._end = start, end
        self.tokens = (PYTHON, start, end) if start else (PYTHON,)

    def write(self, content: str, calls: Sequence[ToolCall]) -> list[Piece]:
        """Write the text, then the calls."""
        pieces = [Piece(content, False)] if content else []
        if calls and self._start:
            pieces = [Piece(self._start, True), *pieces, Piece(self._end, True)]
        elif calls and content:
            pieces.append(Piece("\n", True))
        for call in calls:
            payload = f'{{"name": {arguments_json(call.name)}, "parameters": {arguments_json(dict(call.arguments))}}}'
            pieces.append(Piece(payload, False))
        return pieces

    def read(self, text: str) -> ParsedTurn:
        """Parse the calls; a turn that begins like a call and is not JSON is an error."""
        first = CALL.search(text)
        if first is None:
            return parsed_turn(text, text, [])
        found, position = list[FoundCall](), first.start()
        while text.startswith("{", begin := skip_space(text, position)):
            call, position = _read_object(text, begin, f"c{len(found)}")
            found.append(FoundCall(call, begin, position))
            if text.startswith(";", rest := skip_space(text, position)):
                position = rest + 1
        content = text[: first.start()].removesuffix("\n").removesuffix(PYTHON)
        if self._start and content.startswith(self._start):
            content = content.removeprefix(self._start).removesuffix(self._end)
        return parsed_turn(text, content + text[position:], found)


def _read_object(text: str, start: int, call_id: str) -> tuple[ToolCall | str, int]:
    try:
        value, stop = decode_json(text, start)
    except ValueError as error:
        return f"the call is not JSON: {json_error_text(error, start)}", len(text)
    if isinstance(value, dict) and "parameters" in value:
        value = {**value, "arguments": value["parameters"]}
    call = call_from_json(value, call_id)
    if isinstance(call, str):
        call = call.replace('"arguments"', '"parameters"')
    return call, stop


class ListedCalls(ModelCalls):
    """Calls of Mistral models: a JSON list after [TOOL_CALLS], with ids of nine letters and digits.

    Args:
        space: text between [TOOL_CALLS] and the list.

    Example:
        ListedCalls().read('[TOOL_CALLS][{"name": "now", "arguments": {}}]').calls gives (ToolCall("now", {}, "c0"),)
    """

    mark = "[TOOL_CALLS]"
    example = f'{mark}[{{"name": <the tool>, "arguments": <a JSON object>, "id": <nine letters and digits>}}]'
    tokens = (mark,)

    def __init__(self, *, space: str = ""):
        self._space = space

    def write(self, content: str, calls: Sequence[ToolCall]) -> list[Piece]:
        """Write the text, then a list of all calls."""
        pieces = [Piece(content, False)] if content else []
        if not calls:
            return pieces
        listed = [
            {"name": call.name, "arguments": dict(call.arguments), "id": self.call_id(call, k)}
            for k, call in enumerate(calls)
        ]
        return [*pieces, Piece(f"{self.mark}{self._space}", True), Piece(arguments_json(listed), False)]

    def read(self, text: str) -> ParsedTurn:
        """Parse the list; a list that is not JSON is one error."""
        start = text.find(self.mark)
        if start < 0:
            return parsed_turn(text, text, [])
        begin = skip_space(text, start + len(self.mark))
        try:
            values, stop = decode_json(text, begin)
        except ValueError as error:
            return parsed_turn(text, text[:start], [], [f"the calls are not JSON: {json_error_text(error, begin)}"])
        if not isinstance(values, list) or not values:
            return parsed_turn(text, text[:start], [], [f"{self.mark} needs a JSON list of calls"])
        found = [FoundCall(_listed(value, k), start, stop) for k, value in enumerate(values)]
        return parsed_turn(text, text[:start] + text[stop:], found)

    def call_id(self, call: ToolCall, number: int) -> str:
        """The sampled id, or nine letters and digits made of the position in the turn."""
        sampled = unprefixed_id(call)
        return sampled if NINE.fullmatch(sampled) else super().call_id(call, number)


def _listed(value: object, number: int) -> ToolCall | str:
    sampled = value.get("id") if isinstance(value, dict) else None
    return call_from_json(value, sampled if isinstance(sampled, str) and NINE.fullmatch(sampled) else f"c{number}")
