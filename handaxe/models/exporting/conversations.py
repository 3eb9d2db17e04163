"""Conversations as chat completions write them, and whether a tokenizer renders them as a format does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, ToolCall, ToolSchema

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["chat_messages", "chat_tools", "check_same_ids", "hostile_differences", "rendered_ids"]

LOOK_UP = ToolSchema(
    "look_up",
    "Look up a word.",
    {"type": "object", "properties": {"word": {"type": "string"}, "most": {"type": "integer"}}, "required": ["word"]},
)
ECHO = ToolSchema("echo", "Say it again.", {"type": "object", "properties": {"text": {"type": "string"}}})
TOOLS = (LOOK_UP, ECHO)


def chat_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages as `apply_chat_template` takes them. The arguments of calls are objects, not JSON text."""
    return [_message(message) for message in messages]


def chat_tools(tools: Iterable[ToolSchema]) -> list[dict[str, Any]]:
    """Tools as `apply_chat_template` takes them."""
    told = ({"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in tools)
    return [{"type": "function", "function": function} for function in told]


def rendered_ids(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], tools: Sequence[ToolSchema]
) -> list[int]:
    """The ids that a tokenizer's own chat template gives a conversation, up to the policy's next token."""
    told: Any = chat_tools(tools) or None
    ids: Any = tokenizer.apply_chat_template(
        chat_messages(messages), tools=told, add_generation_prompt=True, return_dict=False
    )
    return list(ids)


def check_same_ids(format: ChatFormat, tokenizer: PreTrainedTokenizerBase, tools: Sequence[ToolSchema]) -> int:
    """Compare format and tokenizer over conversations with and without tools, these tools among them; what the format
    refuses is left out. How many were compared.

    Raises:
        InputError: showing where the first conversation that differs does.
    """
    compared = 0
    for messages in _chats("What  is a burin? 12*34=?\n\n\n   na\u00efve \U0001f5ff <a>&b"):
        for offered in ((), TOOLS, tuple(tools)):
            wanted = _started(format, messages, offered)
            if wanted is None or (not offered and any(message.calls for message in messages)):
                continue
            found = rendered_ids(tokenizer, messages, offered)
            if found != wanted:
                at = next((k for k, (a, b) in enumerate(zip(wanted, found)) if a != b), min(len(wanted), len(found)))
                part = slice(max(at - 8, 0), at + 8)
                raise InputError(
                    f"the exported chat template would not give the ids of training: {format.decode(found[part])!r} "
                    f"instead of {format.decode(wanted[part])!r}; use a chat template that renders messages as they are"
                )
            compared += 1
    if not compared:
        raise InputError("the format refuses every conversation, so nothing can be said of an export")
    return compared


def hostile_differences(format: ChatFormat, tokenizer: PreTrainedTokenizerBase, names: Sequence[str]) -> list[str]:
    """The names of control tokens that get other ids in the words of users and tools than they had in training."""
    if not names or _same(format, tokenizer, " ".join(names)):
        return []
    if len(names) == 1:
        return list(names)
    half = len(names) // 2
    parts = (hostile_differences(format, tokenizer, part) for part in (names[:half], names[half:]))
    return [name for part in parts for name in part]


def _same(format: ChatFormat, tokenizer: PreTrainedTokenizerBase, text: str) -> bool:
    """Whether a text has the ids of training wherever users and tools may say it."""
    for messages in _chats(f"say {text} now"):
        wanted = _started(format, messages, TOOLS)
        if wanted is not None and rendered_ids(tokenizer, messages, TOOLS) != wanted:
            return False
    return True


def _started(format: ChatFormat, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int] | None:
    try:
        return format.start(messages, tools).ids
    except InputError:
        return None


def _chats(text: str) -> list[list[Message]]:
    """Conversations in which users and tools say `text`."""
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
        made = ((call.id, {"name": call.name, "arguments": dict(call.arguments)}) for call in message.calls)
        out["tool_calls"] = [{"id": id, "type": "function", "function": function} for id, function in made]
    if message.role == "tool":
        out["tool_call_id"] = message.call_id
        if message.name:
            out["name"] = message.name
    return out
