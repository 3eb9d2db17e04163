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
from handaxe.core.images import Image
from handaxe.core.records import Author, Message, ParsedTurn, ToolSchema
from handaxe.core.requests import Rendered
from handaxe.models.chat_formats.image_parts import image_parts, refuse_images
from handaxe.models.chat_formats.safe_encoder import Part, SafeEncoder
from handaxe.models.chat_formats.tool_call_parsing import CallSyntax, Origin, TaggedCalls

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from handaxe.models.image_processors import ProcessorImages

__all__ = [
    "Hermes",
    "PlainMessage",
    "TemplateInfo",
    "describe_tools",
    "message_parts",
    "parse_turn",
    "plain_chat",
    "turn_parts",
]

START, END = "<|im_start|>", "<|im_end|>"
VISION = ("<|vision_start|>", "<|vision_end|>")
CHATML = """{%- for message in messages %}
{{- "<|im_start|>" ~ message.role ~ "\\n" ~ message.content ~ "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|im_start|>assistant\\n" }}{%- endif %}"""
"""Chat template equal to `Hermes`."""
CONTENT = """{%- macro hx_parts(content) %}{%- if content is string %}{{- content }}{%- else %}
{%- for part in content %}{{- IMAGE if part.type == "image" else part.text }}{%- endfor %}{%- endif %}{%- endmacro %}
"""
"""Macro of the template of a model with vision."""


class Hermes:
    """Implements `core.protocols.ChatFormat`; see the module. Never rewrites history.

    A tool result is a user message between <tool_response> tags; results of one turn's calls share a message. Special
    tokens other than <|im_end|> and the tokenizer's end of text end a turn as "header".

    Args:
        tokenizer: with the tokens <|im_start|> and <|im_end|>.
        calls: syntax of tool calls; None: `TaggedCalls()`.
        image_processor: of a transformers model; None for a model without vision. Images stand between <|vision_start|>
            and <|vision_end|> if the tokenizer has these tokens.

    Raises:
        InputError: the tokenizer lacks one of the tokens, or alters ordinary text (WordPiece).
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        calls: CallSyntax | None = None,
        image_processor: ProcessorImages | None = None,
    ):
        self.image_processor = image_processor
        self._encoder = SafeEncoder(tokenizer, image_processor)
        self._encoder.check_faithful()
        self._calls = calls or TaggedCalls()
        self.origin = Origin(tokenizer, self._calls)
        missing = [name for name in (START, END) if name not in self._encoder.control]
        if missing:
            raise InputError(f"the tokenizer has no {' and no '.join(missing)}; use ChatTemplate, or another tokenizer")
        self._end = self._encoder.control[END]
        eos = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
        self.stop_ids = frozenset({self._end, *eos})
        own = () if image_processor is None else image_processor.vocabulary_ids
        self.header_ids = frozenset({*self._encoder.special.values(), *own}) - self.stop_ids

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
        """Return the ids that a policy samples for a message, <|im_end|> included.

        Raises:
            InputError: the message has images.
        """
        del tools
        refuse_images(message)
        return [*self._encoder.encode_parts(turn_parts(self._encoder, self._calls, message)).ids, self._end]

    def decode(self, ids: Sequence[int]) -> str:
        """Decode text, with control tokens by name."""
        return self._encoder.decode(ids)

    def template_info(self) -> TemplateInfo:
        """The format as a chat template, for `models.exporting`."""
        template = CHATML
        if self.image_processor is not None:
            shown = json.dumps(self._encoder.placeholder.join(self._image_tags()))
            template = CONTENT.replace("IMAGE", shown) + CHATML.replace("message.content", "hx_parts(message.content)")
        return TemplateInfo(self._encoder, f"{START}assistant\n", template)

    def _chat(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[Part]:
        parts = list[Part]()
        for role, content in plain_chat(self._encoder, self._calls, messages, tools):
            parts += [Part(f"{START}{role}\n"), *self._between_tags(content), Part(f"{END}\n")]
        return [*parts, Part(f"{START}assistant\n")]

    def _between_tags(self, parts: Sequence[Part]) -> list[Part]:
        """Parts with the tags of the tokenizer around images."""
        start, end = self._image_tags()
        tagged = [[part] if part.image is None else [Part(start), part, Part(end)] for part in parts]
        return [part for group in tagged for part in group]

    def _image_tags(self) -> tuple[str, str]:
        """Text before and after an image."""
        return VISION if set(VISION) <= self._encoder.control.keys() else ("", "")


class TemplateInfo(NamedTuple):
    """A chat format as a template: encoder of text, header of an assistant turn, chat template, True if the template
    renders tools, and the message with the tool descriptions otherwise; `lists` and `tool_images` as in
    `template_rendering.Style`."""

    encoder: SafeEncoder
    header: str
    template: str
    native_tools: bool = False
    tools_message: Literal["system", "user"] = "system"
    lists: bool = False
    tool_images: bool = True


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
            shown = message_parts(encoder, message)
            result = [Part("<tool_response>\n"), *shown, Part("\n</tool_response>")]
            if after_result:
                chat[-1].parts.extend([Part("\n"), *result])
            else:
                chat.append(PlainMessage("user", result))
        elif message.role == "assistant":
            chat.append(PlainMessage("assistant", turn_parts(encoder, calls, message)))
        else:
            parts = message_parts(encoder, message)
            if description and message.role == tools_message:
                in_system = tools_message == "system"
                parts = [*parts, Part("\n\n"), *description] if in_system else [*description, Part("\n\n"), *parts]
                description = []
            chat.append(PlainMessage(message.role, parts))
        after_result = message.role == "tool"
    return chat


def message_parts(encoder: SafeEncoder, message: Message) -> list[Part]:
    """Untrusted texts and images of a message of a user, a tool or the system, in order.

    Raises:
        InputError: as `image_parts.image_parts`.
    """
    author = Author.TOOL if message.role == "tool" else Author.USER
    found = image_parts(message, encoder.image_processor)
    return [Part("", author, False, part) if isinstance(part, Image) else Part(part, author, False) for part in found]


def describe_tools(tools: Sequence[ToolSchema], calls: CallSyntax) -> list[Part]:
    """Tool description for the prompt: the call syntax and one JSON schema a line. Schemas are untrusted text."""
    parts = [Part(f"You may call tools. To call one, write\n{calls.example}\nThe tools are\n<tools>")]
    for tool in tools:
        schema = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        parts += [Part("\n"), Part(json.dumps(schema, ensure_ascii=False), trusted=False)]
    return [*parts, Part("\n</tools>")]


def turn_parts(encoder: SafeEncoder, calls: CallSyntax, message: Message) -> list[Part]:
    """Parts of an assistant turn, without its end token; tags are trusted, all other text is untrusted."""
    refuse_images(message)
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
