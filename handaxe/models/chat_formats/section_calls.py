"""Calls in a section of control tokens, as in DeepSeek and Kimi models.

Let me see.<section><call>name<separator>{"expression": "12*34"}<call end></section>
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.models.chat_formats.model_calls import (
    FoundCall,
    ModelCalls,
    arguments_json,
    parsed_turn,
    read_call,
    unprefixed_id,
)
from handaxe.models.chat_formats.tool_call_parsing import Piece, skip_space

__all__ = ["DEEPSEEK", "DEEPSEEK_V3_1", "KIMI", "SectionCalls"]

KIMI_ID = re.compile(r"functions\.[\w.\-]+:\d+", re.ASCII)


class _Layout(NamedTuple):
    """Text around the parts of a call.

    section, section_end    of all calls of a turn
    call, call_end          of one call
    head                    between `call` and the arguments, with the place of NAME, or of the ID
    tail                    between the arguments and `call_end`
    joint                   between two calls
    """

    section: str
    call: str
    head: str
    tail: str
    call_end: str
    section_end: str
    joint: str = ""


class SectionCalls(ModelCalls):
    """Calls in a section at the end of a turn; text after the section is text of the turn. Calls inside
    <think>..</think> are ignored.

    Args:
        layout: text around the parts of a call. A head with ID has ids of the form functions.NAME:NUMBER.

    Example:
        KIMI.write("", [ToolCall("now", {}, "c0")]) gives the pieces of
        <|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>...
    """

    def __init__(self, layout: _Layout):
        self._layout = layout
        head = layout.head.replace("NAME", "<the tool>").replace("ID", "functions.<the tool>:<number>")
        self.example = "".join(
            [layout.section, layout.call, head, "<a JSON object>", layout.tail, layout.call_end, layout.section_end]
        )
        self.tokens = (layout.section, layout.section_end, layout.call, layout.call_end)
        self._separator = re.sub("NAME|ID", "", layout.head).strip().split("\n")[0].removeprefix("function")

    def write(self, content: str, calls: Sequence[ToolCall]) -> list[Piece]:
        """Write the text, then a section with all calls."""
        pieces, layout = [Piece(content, False)] if content else [], self._layout
        for k, call in enumerate(calls):
            before, mark, after = re.split("(NAME|ID)", layout.head)
            lead = f"{layout.joint}{layout.call}{before}" if k else f"{layout.section}{layout.call}{before}"
            label = call.name if mark == "NAME" else self.call_id(call, k)
            pieces += [Piece(lead, True), Piece(label, False), Piece(after, True)]
            pieces += [
                Piece(arguments_json(dict(call.arguments)), False),
                Piece(f"{layout.tail}{layout.call_end}", True),
            ]
        return [*pieces, Piece(layout.section_end, True)] if calls else pieces

    def read(self, text: str) -> ParsedTurn:
        """Parse text and calls; a call without end or with arguments that are not JSON is an error."""
        layout = self._layout
        close = text.find("</think>")
        start = text.find(layout.section, max(close, 0))
        if start < 0:
            stray = text.find(layout.call, max(close, 0)) >= 0
            errors = [f"{layout.call} without {layout.section}"] if stray else []
            return parsed_turn(text, text, [], errors)
        found, position = list[FoundCall](), start + len(layout.section)
        while (opening := skip_space(text, position)) >= 0 and text.startswith(layout.call, opening):
            call, position = self._read_one(text, opening + len(layout.call), f"c{len(found)}")
            found.append(FoundCall(call, opening, position))
        stop, errors = skip_space(text, position), list[str]()
        if text.startswith(layout.section_end, stop):
            stop += len(layout.section_end)
        elif all(isinstance(one.call, ToolCall) for one in found):
            errors.append(f"the calls are not closed with {layout.section_end}")
            found, stop = [], len(text)
        if not found and not errors:
            errors.append(f"{layout.section} without a call")
        return parsed_turn(text, text[:start] + text[stop:], found, errors)

    def call_id(self, call: ToolCall, number: int) -> str:
        """The sampled id functions.NAME:NUMBER, or one made of the name and the position in the turn."""
        if "ID" not in self._layout.head:
            return super().call_id(call, number)
        sampled = unprefixed_id(call)
        return sampled if KIMI_ID.fullmatch(sampled) else f"functions.{call.name}:{number}"

    def _read_one(self, text: str, start: int, call_id: str) -> tuple[ToolCall | str, int]:
        """Parse a call from the position after its opening token; returns the call or an error, and its end."""
        layout = self._layout
        end = text.find(layout.call_end, start)
        beyond = len(text) if end < 0 else end + len(layout.call_end)
        separator = text.find(self._separator, start)
        if separator < 0 or 0 <= end < separator:
            return f"a call needs a name, {self._separator} and a JSON object", beyond
        name, place = text[start:separator].strip(), separator + len(self._separator)
        if name == "function" and layout.head.startswith("function"):
            name, _, _ = text[place:].partition("\n")
            place = min(place + len(name) + 1, len(text))
        if "ID" in layout.head:
            call_id = name if KIMI_ID.fullmatch(name) else call_id
            name = re.sub(r":\d+$", "", name.removeprefix("functions."))
        fence = re.compile(r"\s*```(?:json)?").match(text, place) if layout.tail else None
        call, stop = read_call(text, fence.end() if fence else place, name.strip(), call_id)
        if isinstance(call, str):
            return call, beyond
        closing = re.compile(r"[\s`]*").match(text, stop)
        stop = closing.end() if closing else stop
        if not text.startswith(layout.call_end, stop):
            return f"the call is not closed with {layout.call_end} after its JSON object", beyond
        return call, stop + len(layout.call_end)


def _deepseek(head: str, tail: str, joint: str) -> SectionCalls:
    names = ("tool\u2581calls\u2581begin", "tool\u2581call\u2581begin", "tool\u2581call\u2581end")
    section, call, call_end = (f"<\uff5c{name}\uff5c>" for name in names)
    return SectionCalls(_Layout(section, call, head, tail, call_end, "<\uff5ctool\u2581calls\u2581end\uff5c>", joint))


SEPARATOR = "<\uff5ctool\u2581sep\uff5c>"
DEEPSEEK = _deepseek(f"function{SEPARATOR}NAME\n```json\n", "\n```", "\n")
"""Calls of DeepSeek V3 and R1: JSON in a code block."""
DEEPSEEK_V3_1 = _deepseek(f"NAME{SEPARATOR}", "", "")
"""Calls of DeepSeek V3.1."""
KIMI = SectionCalls(
    _Layout(
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>",
        "ID<|tool_call_argument_begin|>",
        "",
        "<|tool_call_end|>",
        "<|tool_calls_section_end|>",
    )
)
"""Calls of Kimi K2. A sampled id keeps its number; ids of demonstrations count from 0 in each turn."""
