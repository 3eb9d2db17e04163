"""Turns of gpt-oss (the harmony format): messages on channels.

    <|channel|>analysis<|message|>a product<|end|><|start|>assistant to=functions.calculator<|channel|>commentary
    json<|message|>{"expression": "12*34"}                                                      ends with <|call|>
    <|channel|>final<|message|>408                                                              ends with <|return|>

The analysis channel is the thought of a message. Text beside a call is a message on the commentary channel. A recipient
may follow the channel's name, and <|constrain|> may precede json: the models sample both.
"""

import re
from collections.abc import Sequence

from handaxe.core.records import ParsedTurn, ToolCall
from handaxe.models.chat_formats.model_calls import (
    FoundCall,
    ModelCalls,
    arguments_json,
    join_thought,
    parsed_turn,
    read_call,
    split_thought,
)
from handaxe.models.chat_formats.tool_call_parsing import Piece, skip_space

__all__ = ["HarmonyCalls"]

NEXT = "<|start|>assistant"
MESSAGE = re.compile(r"(?P<header>[^<]*(?:<\|(?:channel|constrain)\|>[^<]*)*)<\|message\|>")
BOUNDARY = re.compile(r"(?:<\|(?:end|call|return)\|>)?<\|start\|>assistant")
RECIPIENT = re.compile(r"\bto=([^\s<]+)")
CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")


class HarmonyCalls(ModelCalls):
    """Turns with channels; a turn has at most one call, since <|call|> ends a turn.

    Example:
        HarmonyCalls().read(" to=functions.now<|channel|>commentary json<|message|>{}").calls
        gives (ToolCall("now", {}, "c0"),)
    """

    example = " to=functions.<the tool><|channel|>commentary json<|message|><a JSON object>"
    tokens = ("<|start|>", "<|end|>", "<|channel|>", "<|message|>", "<|constrain|>")

    def write(self, content: str, calls: Sequence[ToolCall]) -> list[Piece]:
        """Write thought, text and calls as messages."""
        thought, text = split_thought(content)
        messages = list[list[Piece]]()
        if thought:
            messages.append([Piece("<|channel|>analysis<|message|>", True), Piece(thought, False)])
        if text or not calls:
            channel = "commentary" if calls else "final"
            messages.append([Piece(f"<|channel|>{channel}<|message|>", True), Piece(text, False)])
        for call in calls:
            lead = [Piece(" to=functions.", True), Piece(call.name, False)]
            body = [
                Piece("<|channel|>commentary json<|message|>", True),
                Piece(arguments_json(dict(call.arguments)), False),
            ]
            messages.append([*lead, *body])
        pieces = list[Piece]()
        for message in messages:
            pieces += [Piece(f"<|end|>{NEXT}", True), *message] if pieces else message
        return [piece for piece in pieces if piece.text]

    def read(self, text: str) -> ParsedTurn:
        """Parse the messages of a turn; text without channel is text of the turn."""
        thoughts, words = list[str](), list[str]()
        found, position = list[FoundCall](), 0
        while position < len(text):
            begin, header = position, MESSAGE.match(text, position)
            start = header.end() if header else begin
            head = header["header"] if header else ""
            recipient, channel = RECIPIENT.search(head), CHANNEL.search(head)
            if recipient:
                name = recipient[1].removeprefix("functions.")
                call, stop = read_call(text, start, name, f"c{len(found)}")
                boundary = BOUNDARY.search(text, stop)
                end, position = (boundary.start(), boundary.end()) if boundary else (len(text), len(text))
                if isinstance(call, ToolCall) and skip_space(text, stop) < end:
                    call = f"the arguments of {name[:80]!r} have more than one JSON value"
                found.append(FoundCall(call, begin, end))
                continue
            boundary = BOUNDARY.search(text, start)
            end, position = (boundary.start(), boundary.end()) if boundary else (len(text), len(text))
            (thoughts if channel and channel[1] == "analysis" else words).append(text[start:end])
        return parsed_turn(text, join_thought("\n".join(thoughts), "".join(words)), found)
