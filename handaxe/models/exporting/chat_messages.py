"""Messages of chat completions, and comparison of an exported chat template with a chat format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, ToolCall, ToolSchema

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["chat_messages", "chat_tools", "check_same_ids", "rendered_ids", "untrusted_differences"]

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
                length = min(len(expected), len(exported))
                at = next((k for k, (a, b) in enumerate(zip(expected, exported)) if a != b), length)
                part = slice(max(at - 8, 0), at + 8)
                raise InputError(
                    f"the exported chat template gives other ids than in training: {format.decode(exported[part])!r} "
                    f"instead of {format.decode(expected[part])!r}; use a chat template that renders messages unchanged"
                )
            compared += 1
    if not compared:
        raise InputError("the format refuses every conversation, so the export cannot be verified")
    return compared


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


def _message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        calls = ((call.id, {"name": call.name, "arguments": dict(call.arguments)}) for call in message.calls)
        out["tool_calls"] = [{"id": id, "type": "function", "function": function} for id, function in calls]
    if message.role == "tool":
        out["tool_call_id"] = message.call_id
        if message.name:
            out["name"] = message.name
    return out
