"""Conversation as text, for questions to language models."""

import json
from collections.abc import Mapping, Sequence

from handaxe.core.images import name_images
from handaxe.core.records import Message

__all__ = ["conversation_text"]

NAMES: Mapping[str, str] = {}


def conversation_text(messages: Sequence[Message], *, names: Mapping[str, str] = NAMES) -> str:
    """Write one line "ROLE: TEXT CALLS" for each message; a text of several lines keeps them.

    Args:
        messages: of the conversation; images are named.
        names: role -> word in its place.

    Example:
        "user: 12*34?\\nassistant: calculator({"expression": "12*34"})\\ntool: 408"
    """
    return "\n".join(f"{names.get(one.role, one.role)}: {_words(one)}" for one in messages)


def _words(message: Message) -> str:
    """Text of a message, with its calls behind it."""
    calls = [f"{call.name}({json.dumps(dict(call.arguments), ensure_ascii=False)})" for call in message.calls]
    return " ".join([name_images(message.content, message.images), *calls]).strip()
