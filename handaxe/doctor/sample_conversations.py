"""Generates conversations of six kinds to test a chat format on, with unusual text and calls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.ops.seeds import derive_seed

__all__ = ["Conversation", "LOOK_UP", "make_conversations"]

LOOK_UP = ToolSchema(
    "look_up",
    "Look up a word.",
    {"type": "object", "properties": {"word": {"type": "string"}, "most": {"type": "integer"}}, "required": ["word"]},
)
WORDS = ("flint", "na\u00efve caf\u00e9", "\u6253\u88fd\u77f3\u5668", "a\tb\n\nc", "x = 12*34", "\U0001fab5\U0001faa8")
THOUGHT = "<think>\nIt is a kind of chisel.\n</think>\n\n"


class Conversation(NamedTuple):
    """Messages of a conversation, with offered tools. The last message is not the assistant's."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    kind: str


def make_conversations(tools: Sequence[ToolSchema] = (), *, count: int = 24, seed: int = 0) -> list[Conversation]:
    """Make conversations of two to four turns, with equally many of each kind.

        plain      questions and answers            calls     one call per turn, with a reply
        two calls  two calls in one turn            empty     turns and replies without text
        thoughts   turns that begin with a thought  system    a system message first

    Words contain letters of other scripts, white space and symbols.

    Args:
        tools: of the run. One more tool is offered, and called.
        count: number of conversations.
        seed: of the words.
    """
    kinds = ("plain", "calls", "two calls", "empty", "thoughts", "system")
    return [_made(kinds[k % len(kinds)], tools, random.Random(derive_seed(seed, "talk", k))) for k in range(count)]


def _made(kind: str, tools: Sequence[ToolSchema], rng: random.Random) -> Conversation:
    called = kind in ("calls", "two calls", "empty", "thoughts")
    messages = [Message("user", f"What is {rng.choice(WORDS)}?")]
    if kind == "system":
        messages.insert(0, Message("system", f"Be brief. {rng.choice(WORDS)}"))
    for turn in range(rng.randrange(2, 5)):
        text = "" if kind == "empty" else rng.choice(WORDS)
        text = THOUGHT + text if kind == "thoughts" else text
        calls = tuple(_call(turn, k, rng) for k in range(2 if kind == "two calls" else 1)) if called else ()
        messages.append(Message("assistant", text, calls))
        reply = "" if kind == "empty" else f"It says {rng.choice(WORDS)}."
        if calls:
            messages += [Message("tool", reply, call_id=call.id, name=call.name) for call in calls]
        else:
            messages.append(Message("user", f"And {rng.choice(WORDS)}?"))
    offered = (*(one for one in tools if one.name != LOOK_UP.name), LOOK_UP) if called else ()
    return Conversation(tuple(messages), offered, kind)


def _call(turn: int, number: int, rng: random.Random) -> ToolCall:
    arguments: dict[str, Any] = {"word": rng.choice(WORDS), "most": rng.randrange(9)}
    return ToolCall(LOOK_UP.name, arguments, f"t{turn}c{number}")
