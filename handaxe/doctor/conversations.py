"""Conversations of many kinds, to try a chat format on: what its own authors did not think of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.ops.seeds import derive_seed

__all__ = ["LOOK_UP", "Trial", "conversations"]

LOOK_UP = ToolSchema(
    "look_up",
    "Look up a word.",
    {"type": "object", "properties": {"word": {"type": "string"}, "most": {"type": "integer"}}, "required": ["word"]},
)
WORDS = ("flint", "na\u00efve caf\u00e9", "\u6253\u88fd\u77f3\u5668", "a\tb\n\nc", "x = 12*34", "\U0001fab5\U0001faa8")
THOUGHT = "<think>\nIt is a kind of chisel.\n</think>\n\n"


class Trial(NamedTuple):
    """Messages of which the last is not the assistant's, and the tools offered. `kind`: what is special in it."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    kind: str


def conversations(tools: Sequence[ToolSchema] = (), *, count: int = 24, seed: int = 0) -> list[Trial]:
    """Make conversations of two to four turns, each kind as often as the others.

        plain      questions and answers            calls     one call a turn, answered
        two calls  two calls in one turn            empty     a turn, or a reply, that says nothing
        thoughts   turns that begin with a thought  system    begun by a system message

    Words hold letters of other scripts, white space and symbols.

    Args:
        tools: those of the run; one of ours is offered besides, and called.
        count: how many.
        seed: of the words.
    """
    kinds = ("plain", "calls", "two calls", "empty", "thoughts", "system")
    return [_made(kinds[k % len(kinds)], tools, random.Random(derive_seed(seed, "talk", k))) for k in range(count)]


def _made(kind: str, tools: Sequence[ToolSchema], rng: random.Random) -> Trial:
    called = kind in ("calls", "two calls", "empty", "thoughts")
    messages = [Message("user", f"What is {rng.choice(WORDS)}?")]
    if kind == "system":
        messages.insert(0, Message("system", f"Be brief. {rng.choice(WORDS)}"))
    for turn in range(rng.randrange(2, 5)):
        text = "" if kind == "empty" else rng.choice(WORDS)
        text = THOUGHT + text if kind == "thoughts" else text
        calls = tuple(_call(turn, k, rng) for k in range(2 if kind == "two calls" else 1)) if called else ()
        messages.append(Message("assistant", text, calls))
        said = "" if kind == "empty" else f"It says {rng.choice(WORDS)}."
        if calls:
            messages += [Message("tool", said, call_id=call.id, name=call.name) for call in calls]
        else:
            messages.append(Message("user", f"And {rng.choice(WORDS)}?"))
    offered = (*(one for one in tools if one.name != LOOK_UP.name), LOOK_UP) if called else ()
    return Trial(tuple(messages), offered, kind)


def _call(turn: int, number: int, rng: random.Random) -> ToolCall:
    arguments: dict[str, Any] = {"word": rng.choice(WORDS), "most": rng.randrange(9)}
    return ToolCall(LOOK_UP.name, arguments, f"t{turn}c{number}")
