"""Chat format of Hermes and Qwen models: ChatML with tool calls as JSON between tags, without a template engine.

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

`models.chat_formats.chat_template` uses the tool description and call syntax of this module for templates without
tools.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Message, ParsedTurn, ToolSchema
from handaxe.core.requests import Rendered
from handaxe.models.chat_formats.safe_encoder import Part, SafeEncoder
from handaxe.models.chat_formats.tool_call_parsing import CallSyntax, Origin, TaggedCalls

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["Hermes", "PlainMessage", "TemplateInfo", "describe_tools", "parse_turn", "plain_chat", "turn_parts"]

START, END = "<|im_start|>", "<|im_end|>"
CHATML = """{%- for message in messages %}
{{- "<|im_start|>" ~ message.role ~ "\\n" ~ message.content ~ "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|im_start|>assistant\\n" }}{%- endif %}"""
"""Chat template equal to `Hermes`."""


class Hermes:
    """Implements `core.protocols.ChatFormat`; see the module. Never rewrites history.

    A tool result is a user message between <tool_response> tags; results of one turn's calls share a message. Special
    tokens other than <|im_end|> and the tokenizer's end of text end a turn as "header".

    Args:
        tokenizer: with the tokens <|im_start|> and <|im_end|>.
        calls: syntax of tool calls; None: `TaggedCalls()`.

    Raises:
        InputError: the tokenizer lacks one of the tokens, or alters ordinary text (WordPiece).
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
        eos = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
        self.stop_ids = frozenset({self._end, *eos})
        self.header_ids = frozenset(self._encoder.special.values()) - self.stop_ids

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """Tool descriptions, messages, and the header of the policy's turn."""
        return self._encoder.encode_parts(self._chat(messages, tools))

    def extend(
        self,
        history: Sequence[Message],
        new: Sequence[Message],
        last_ids: Sequence[int],
        tools: Sequence[ToolSchema],
    ) -> Rendered:
        """<|im_end|> if the policy did not sample it, the new messages, and the header of the next turn."""
        del history, tools
        close = "\n" if last_ids and last_ids[-1] == self._end else f"{END}\n"
        return self._encoder.encode_parts([Part(close), *self._chat(new, ())])

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """Parse the text and the calls of a turn."""
        del tools
        return parse_turn(self._encoder, self._calls, ids, self.stop_ids | self.header_ids)

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """Return the ids that a policy samples for a message, <|im_end|> included."""
        del tools
        return [*self._encoder.encode_parts(turn_parts(self._encoder, self._calls, message)).ids, self._end]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode text, with control tokens by name."""
        return self._encoder.decode(ids)

    def template_info(self) -> TemplateInfo:
        """The format as a chat template, for `models.exporting`."""
        return TemplateInfo(self._encoder, f"{START}assistant\n", CHATML)

    def _chat(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[Part]:
        parts = list[Part]()
        for role, content in plain_chat(self._encoder, self._calls, messages, tools):
            parts += [Part(f"{START}{role}\n"), *content, Part(f"{END}\n")]
        return [*parts, Part(f"{START}assistant\n")]


class TemplateInfo(NamedTuple):
    """A chat format as a template: encoder of text, header of an assistant turn, chat template, True if the template
    renders tools, and the message with the tool descriptions otherwise."""

    encoder: SafeEncoder
    header: str
    template: str
    native_tools: bool = False
    tools_message: Literal["system", "user"] = "system"


class PlainMessage(NamedTuple):
    """A message with one of the roles system, user and assistant."""

    role: str
    parts: list[Part]


def plain_chat(
    encoder: SafeEncoder,
    calls: CallSyntax,
    messages: Sequence[Message],
    tools: Sequence[ToolSchema],
    *,
    tools_message: Literal["system", "user"] = "system",
) -> list[PlainMessage]:
    """Convert a conversation to the roles system, user and assistant.

    Tool descriptions go to the end of the first system message, or to the start of the first user message
    (`tools_message`). Calls are written into the assistant's text. Tool results become a user message between
    <tool_response> tags; adjacent results share a message.
    """
    chat, after_result = list[PlainMessage](), False
    description = describe_tools(tools, calls) if tools else []
    if description and tools_message == "system" and (not messages or messages[0].role != "system"):
        chat.append(PlainMessage("system", description))
        description = []
    for message in messages:
        if message.role == "tool":
            result = [Part("<tool_response>\n"), Part(message.content, Author.TOOL, False), Part("\n</tool_response>")]
            if after_result:
                chat[-1].parts.extend([Part("\n"), *result])
            else:
                chat.append(PlainMessage("user", result))
        elif message.role == "assistant":
            chat.append(PlainMessage("assistant", turn_parts(encoder, calls, message)))
        else:
            parts = [Part(message.content, Author.USER, False)]
            if description and message.role == tools_message:
                in_system = tools_message == "system"
                parts = [*parts, Part("\n\n"), *description] if in_system else [*description, Part("\n\n"), *parts]
                description = []
            chat.append(PlainMessage(message.role, parts))
        after_result = message.role == "tool"
    return chat


def describe_tools(tools: Sequence[ToolSchema], calls: CallSyntax) -> list[Part]:
    """Tool description for the prompt: the call syntax and one JSON schema a line. Schemas are untrusted text."""
    parts = [Part(f"You may call tools. To call one, write\n{calls.example}\nThe tools are\n<tools>")]
    for tool in tools:
        schema = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        parts += [Part("\n"), Part(json.dumps(schema, ensure_ascii=False), trusted=False)]
    return [*parts, Part("\n</tools>")]


def turn_parts(encoder: SafeEncoder, calls: CallSyntax, message: Message) -> list[Part]:
    """Parts of an assistant turn, without its end token; tags are trusted, all other text is untrusted."""
    parts = list[Part]()
    for k, piece in enumerate(calls.write(message.content, message.calls)):
        if piece.tag:
            parts.append(Part(piece.text))
        else:
            parts += encoder.mark(piece.text) if k == 0 and message.content else [Part(piece.text, trusted=False)]
    return parts


def parse_turn(
    encoder: SafeEncoder,
    calls: CallSyntax,
    ids: Sequence[int],
    end_ids: frozenset[int],
    *,
    opening: str = "",
    ignored_prefix: str = "",
) -> ParsedTurn:
    """Parse sampled ids.

    Args:
        end_ids: ids that end a turn; a final one is not part of the text.
        opening: text of the turn that the format wrote before the sampled ids.
        ignored_prefix: prefix to remove from a turn, such as an empty thought.
    """
    content_ids = ids[:-1] if ids and ids[-1] in end_ids else ids
    text = encoder.decode(content_ids)
    turn = f"{opening}{text}".removeprefix(ignored_prefix)
    parsed = calls.read(turn)
    shift = len(text) - len(turn)
    spans = tuple(_id_span(encoder, content_ids, text, start + shift, stop + shift) for start, stop in parsed.spans)
    return ParsedTurn(parsed.text, parsed.calls, parsed.errors, encoder.decode(ids), spans)


def _id_span(encoder: SafeEncoder, ids: Sequence[int], text: str, start: int, stop: int) -> tuple[int, int]:
    """The range [first, last) of ids with characters of text[start:stop]; `ids` decode to `text`."""

    def covers(count: int, character: int) -> bool:
        """True if the first `count` ids decode to the text up to and including the character."""
        return encoder.decode(ids[:count]).startswith(text[: character + 1])

    counts = range(len(ids) + 1)
    first = bisect_left(counts, True, key=lambda count: covers(count, start)) - 1
    return max(first, 0), bisect_left(counts, True, key=lambda count: covers(count, stop - 1))
