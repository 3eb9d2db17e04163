"""ChatML with tool calls as JSON between tags, the way of Hermes and Qwen models, written without a template engine.

    <|im_start|>system
    You may call these tools ... <tools>{"name": "calculator", ...}</tools><|im_end|>     template
    <|im_start|>user
    12*34=?<|im_end|>                                                                     user
    <|im_start|>assistant
    <tool_call>
    {"name": "calculator", "arguments": {"expression": "12*34"}}
    </tool_call><|im_end|>                                                                policy
    <|im_start|>user
    <tool_response>
    408
    </tool_response><|im_end|>                                                            tool
    <|im_start|>assistant
    408<|im_end|>                                                                         policy

The parts of this format that need no ChatML also serve `models.chat_template` for templates without tools.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Message, ParsedTurn, ToolSchema
from handaxe.core.requests import Rendered
from handaxe.models.calls import CallSyntax, Origin, TaggedCalls
from handaxe.models.untrusted import Part, SafeEncoder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["Hermes", "Spoken", "Wording", "describe_tools", "plain_chat", "read_turn", "turn_parts"]

START, END = "<|im_start|>", "<|im_end|>"
CHATML = """{%- for message in messages %}
{{- "<|im_start|>" ~ message.role ~ "\\n" ~ message.content ~ "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|im_start|>assistant\\n" }}{%- endif %}"""
"""What `Hermes` writes, as a chat template."""


class Hermes:
    """Implements `slots.ChatFormat`; see the module. Never rewrites history.

    A tool reply is a message of the user between <tool_response> tags; replies to the calls of one turn share a
    message. Any special token but <|im_end|> and the tokenizer's own end of text ends a turn as "header".

    Args:
        tokenizer: one that has <|im_start|> and <|im_end|>.
        calls: how calls are written.

    Raises:
        InputError: when the tokenizer lacks one of the two, or alters ordinary text (WordPiece).
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, calls: CallSyntax | None = None):
        self._encoder = SafeEncoder(tokenizer)
        self._encoder.check_faithful()
        self._calls = calls or TaggedCalls()
        self.origin = Origin(tokenizer, self._calls)
        missing = [name for name in (START, END) if name not in self._encoder.control]
        if missing:
            raise InputError(f"the tokenizer has no {' and no '.join(missing)}; use ChatTemplate, or another tokenizer")
        self._end = self._encoder.control[END]
        others = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
        self.stop_ids = frozenset({self._end, *others})
        self.header_ids = frozenset(self._encoder.special.values()) - self.stop_ids

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """The tools, the messages, and the header of the policy's turn."""
        return self._encoder.encode_parts(self._chat(messages, tools))

    def extend(
        self,
        history: Sequence[Message],
        new: Sequence[Message],
        last_ids: Sequence[int],
        tools: Sequence[ToolSchema],
    ) -> Rendered:
        """<|im_end|> where the policy did not write it, the new messages, and the header of the next turn."""
        del history, tools
        close = "\n" if last_ids and last_ids[-1] == self._end else f"{END}\n"
        return self._encoder.encode_parts([Part(close), *self._chat(new, ())])

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """The text and the calls of a turn."""
        del tools
        return read_turn(self._encoder, self._calls, ids, self.stop_ids | self.header_ids)

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """The ids a policy would sample to say this."""
        del tools
        return [*self._encoder.encode_parts(turn_parts(self._encoder, self._calls, message)).ids, self._end]

    def decode(self, ids: Sequence[int]) -> str:
        """Text, control tokens by name."""
        return self._encoder.decode(ids)

    def wording(self) -> Wording:
        """For `models.exporting`."""
        return Wording(self._encoder, f"{START}assistant\n", CHATML)

    def _chat(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[Part]:
        parts = list[Part]()
        for role, inner in plain_chat(self._encoder, self._calls, messages, tools):
            parts += [Part(f"{START}{role}\n"), *inner, Part(f"{END}\n")]
        return [*parts, Part(f"{START}assistant\n")]


class Wording(NamedTuple):
    """How a format of a tokenizer words a conversation: how text is encoded, what stands before a turn of the policy,
    the chat template, whether that takes tools, and in which message they are told if not."""

    encoder: SafeEncoder
    header: str
    template: str
    native_tools: bool = False
    tell: Literal["system", "user"] = "system"


class Spoken(NamedTuple):
    """A message for formats that know only system, user and assistant."""

    role: str
    parts: list[Part]


def plain_chat(
    encoder: SafeEncoder,
    calls: CallSyntax,
    messages: Sequence[Message],
    tools: Sequence[ToolSchema],
    *,
    tell: Literal["system", "user"] = "system",
) -> list[Spoken]:
    """The conversation without tool roles: the tools told at the end of the first system message, or at the start of
    the first user message (`tell`), calls written into the assistant's text, tool replies in a user message between
    <tool_response> tags, neighbouring replies in one message."""
    chat, replying = list[Spoken](), False
    told = describe_tools(tools, calls) if tools else []
    if told and tell == "system" and (not messages or messages[0].role != "system"):
        chat.append(Spoken("system", told))
        told = []
    for message in messages:
        if message.role == "tool":
            reply = [Part("<tool_response>\n"), Part(message.content, Author.TOOL, False), Part("\n</tool_response>")]
            if replying:
                chat[-1].parts.extend([Part("\n"), *reply])
            else:
                chat.append(Spoken("user", reply))
        elif message.role == "assistant":
            chat.append(Spoken("assistant", turn_parts(encoder, calls, message)))
        else:
            parts = [Part(message.content, Author.USER, False)]
            if told and message.role == tell:
                parts = [*parts, Part("\n\n"), *told] if tell == "system" else [*told, Part("\n\n"), *parts]
                told = []
            chat.append(Spoken(message.role, parts))
        replying = message.role == "tool"
    return chat


def describe_tools(tools: Sequence[ToolSchema], calls: CallSyntax) -> list[Part]:
    """What a policy is told of the tools: how to call, and one JSON schema a line. Descriptions are not trusted."""
    parts = [Part(f"You may call tools. To call one, write\n{calls.example}\nThe tools are\n<tools>")]
    for tool in tools:
        schema = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        parts += [Part("\n"), Part(json.dumps(schema, ensure_ascii=False), trusted=False)]
    return [*parts, Part("\n</tools>")]


def turn_parts(encoder: SafeEncoder, calls: CallSyntax, message: Message) -> list[Part]:
    """What an assistant says, without the end of its turn; tags are trusted, all else is not."""
    parts = list[Part]()
    for k, piece in enumerate(calls.write(message.content, message.calls)):
        if piece.tag:
            parts.append(Part(piece.text))
        else:
            parts += encoder.mark(piece.text) if k == 0 and message.content else [Part(piece.text, trusted=False)]
    return parts


def read_turn(
    encoder: SafeEncoder,
    calls: CallSyntax,
    ids: Sequence[int],
    ends: frozenset[int],
    *,
    begun: str = "",
    dropped: str = "",
) -> ParsedTurn:
    """What sampled ids mean: the id among `ends` that closes them is not part of the text. `begun` is what the format
    had written of the turn, and `dropped` a beginning that then means nothing."""
    inner = ids[:-1] if ids and ids[-1] in ends else ids
    text = encoder.decode(inner)
    read = f"{begun}{text}".removeprefix(dropped) if begun else text
    parsed = calls.read(read)
    before = len(text) - len(read)
    spans = tuple(_ids_of(encoder, inner, text, start + before, stop + before) for start, stop in parsed.spans)
    return ParsedTurn(parsed.text, parsed.calls, parsed.errors, encoder.decode(ids), spans)


def _ids_of(encoder: SafeEncoder, ids: Sequence[int], text: str, start: int, stop: int) -> tuple[int, int]:
    """The ids [first, last) that hold a character of text[start:stop], which they decode to."""

    def reaches(count: int, character: int) -> bool:
        """Whether the first `count` ids hold that character and all before it, with no half of one at their end."""
        return encoder.decode(ids[:count]).startswith(text[: character + 1])

    places = range(len(ids) + 1)
    first = bisect_left(places, True, key=lambda count: reaches(count, start)) - 1
    return max(first, 0), bisect_left(places, True, key=lambda count: reaches(count, stop - 1))
