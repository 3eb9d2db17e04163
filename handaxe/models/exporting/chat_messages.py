"""Messages of chat completions, and comparison of an exported chat template with a chat format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image, index_images, split_images, unique_images
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, ToolCall, ToolSchema

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from handaxe.models.image_processors import ProcessorImages

__all__ = [
    "chat_messages",
    "chat_tools",
    "check_image_ids",
    "check_same_ids",
    "processed_ids",
    "rendered_ids",
    "untrusted_differences",
]

LOOK_UP = ToolSchema(
    "look_up",
    "Look up a word.",
    {"type": "object", "properties": {"word": {"type": "string"}, "most": {"type": "integer"}}, "required": ["word"]},
)
ECHO = ToolSchema("echo", "Say it again.", {"type": "object", "properties": {"text": {"type": "string"}}})
TOOLS = (LOOK_UP, ECHO)


def chat_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Convert messages for `apply_chat_template`. Call arguments are objects, not JSON text."""
    return [_message(message) for message in messages]


def chat_tools(tools: Iterable[ToolSchema]) -> list[dict[str, Any]]:
    """Convert tools for `apply_chat_template`."""
    functions = ({"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in tools)
    return [{"type": "function", "function": function} for function in functions]


def rendered_ids(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], tools: Sequence[ToolSchema]
) -> list[int]:
    """Ids of a conversation by the tokenizer's chat template, generation prompt included."""
    chat_tool_list: Any = chat_tools(tools) or None
    ids: Any = tokenizer.apply_chat_template(
        chat_messages(messages), tools=chat_tool_list, add_generation_prompt=True, return_dict=False
    )
    return list(ids)


def processed_ids(images: ProcessorImages, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
    """Ids of a conversation with images by the processor of transformers, generation prompt included."""
    from transformers import ProcessorMixin

    made: Any = ProcessorMixin.apply_chat_template(  # that of SmolVLM asks its processor of videos, which is missing
        images.processor,
        chat_messages(messages),
        tools=chat_tools(tools) or None,
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
    )
    return [int(token) for token in made["input_ids"][0]]


def check_image_ids(
    format: ChatFormat, images: ProcessorImages, tools: Sequence[ToolSchema]
) -> tuple[int, Literal["one", "several"]]:
    """Compare the ids of format and exported processor on conversations with images.

    Returns:
        Number of compared conversations, and the images of a conversation for which the ids are equal: "one" for a
        processor that makes other tokens of an image beside another one.

    Raises:
        InputError: ids of a conversation with one image differ, or the format refuses every conversation.
    """
    compared = 0
    shown: Literal["one", "several"] = "several"
    for messages in _image_conversations(images.placeholder):
        offered = tuple(tools) or TOOLS
        found = unique_images(image for message in messages for image in message.images)
        try:
            expected = images.expand(format.start(messages, offered).ids, index_images(found))
        except InputError:
            continue
        exported = processed_ids(images, messages, offered)
        if exported == expected:
            compared += 1
        elif len(found) == 1:
            raise _difference(format, expected, exported)
        else:
            shown = "one"
    if not compared:
        raise InputError("the format refuses every conversation with images, so the export cannot be verified")
    return compared, shown


def check_same_ids(format: ChatFormat, tokenizer: PreTrainedTokenizerBase, tools: Sequence[ToolSchema]) -> int:
    """Compare the ids of format and tokenizer on conversations with and without tools, including the given tools.

    Returns:
        Number of compared conversations, without those that the format refuses.

    Raises:
        InputError: ids differ; the message shows the first difference.
    """
    compared = 0
    for messages in _conversations("What  is a burin? 12*34=?\n\n\n   na\u00efve \U0001f5ff <a>&b"):
        for offered in ((), TOOLS, tuple(tools)):
            expected = _format_ids(format, messages, offered)
            if expected is None or (not offered and any(message.calls for message in messages)):
                continue
            exported = rendered_ids(tokenizer, messages, offered)
            if exported != expected:
                raise _difference(format, expected, exported)
            compared += 1
    if not compared:
        raise InputError("the format refuses every conversation, so the export cannot be verified")
    return compared


def _difference(format: ChatFormat, expected: Sequence[int], exported: Sequence[int]) -> InputError:
    """Error that shows the first different ids."""
    length = min(len(expected), len(exported))
    at = next((k for k, (a, b) in enumerate(zip(expected, exported)) if a != b), length)
    part = slice(max(at - 8, 0), at + 8)
    return InputError(
        f"the exported chat template gives other ids than in training: {format.decode(exported[part])!r} instead of "
        f"{format.decode(expected[part])!r}; use a chat template that renders messages unchanged"
    )


def untrusted_differences(format: ChatFormat, tokenizer: PreTrainedTokenizerBase, names: Sequence[str]) -> list[str]:
    """Names of control tokens with other ids than in training within text of users and tools."""
    if not names or _equal_ids(format, tokenizer, " ".join(names)):
        return []
    if len(names) == 1:
        return list(names)
    half = len(names) // 2
    parts = (untrusted_differences(format, tokenizer, part) for part in (names[:half], names[half:]))
    return [name for part in parts for name in part]


def _equal_ids(format: ChatFormat, tokenizer: PreTrainedTokenizerBase, text: str) -> bool:
    """True if the text has the ids of training in every message of users and tools."""
    for messages in _conversations(f"say {text} now"):
        expected = _format_ids(format, messages, TOOLS)
        if expected is not None and rendered_ids(tokenizer, messages, TOOLS) != expected:
            return False
    return True


def _format_ids(format: ChatFormat, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int] | None:
    try:
        return format.start(messages, tools).ids
    except InputError:
        return None


def _conversations(text: str) -> list[list[Message]]:
    """Conversations with `text` in messages of users and tools."""
    system, question = Message("system", "Be brief."), Message("user", text)
    one, two = ToolCall("look_up", {"word": "burin", "most": 1}, "c0"), ToolCall("echo", {"text": "a \u00e9"}, "c1")
    called = [
        Message("assistant", "Let me see.", (one, two)),
        Message("tool", text, call_id="c0", name="look_up"),
        Message("tool", f" {text}\n", call_id="c1", name="echo"),
    ]
    again = [
        Message("assistant", "", (ToolCall("echo", {"text": "b"}, "c2"),)),
        Message("tool", "b", call_id="c2", name="echo"),
    ]
    thought = Message("assistant", "<think>\nFlint.\n</think>\n\nA chisel.")
    more = Message("user", "And a core?")
    return [
        [question],
        [system, question],
        [Message("system", f" {text} "), question],
        [question, thought, more],
        [system, question, *called],
        [question, *called, thought, more],
        [system, question, *called, *again, thought, more, *called],
    ]


def _image_conversations(placeholder: str) -> list[list[Message]]:
    """Conversations with images of users and tools, and with `placeholder` in their text."""
    wide, tall = (Image.of(np.full(shape, 90, np.uint8)) for shape in ((48, 80), (90, 40)))
    text = f"\u00e9 {placeholder}\n"
    question = Message.of("user", text, wide, f" what is  {placeholder}?")
    called = Message("assistant", "Let me see.", (ToolCall("look_up", {"word": "burin", "most": 1}, "c0"),))
    reply = Message.of("tool", "Here: ", wide, text, call_id="c0", name="look_up")
    answered = [Message("assistant", "A chisel."), Message("user", "And a core?")]
    return [
        [question],
        [Message("system", text), question, *answered],
        [Message("user", "What?"), called, reply],
        [Message("system", "Be brief."), question, called, Message.of("tool", tall, call_id="c0", name="look_up")],
        [Message.of("user", wide, tall, wide), *answered],
    ]


def _content(message: Message) -> str | list[dict[str, Any]]:
    """Text, or a list of texts and images."""
    if not message.images:
        return message.content
    return [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": part.pillow()}
        for part in split_images(message.content, message.images)
    ]


def _message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": _content(message)}
    if message.calls:
        calls = ((call.id, {"name": call.name, "arguments": dict(call.arguments)}) for call in message.calls)
        out["tool_calls"] = [{"id": id, "type": "function", "function": function} for id, function in calls]
    if message.role == "tool":
        out["tool_call_id"] = message.call_id
        if message.name:
            out["name"] = message.name
    return out
