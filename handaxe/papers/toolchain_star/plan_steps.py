"""Steps of a plan: the tool of each turn, and the places of the words of the turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handaxe.core.records import Message, ParsedTurn, Trajectory

__all__ = ["Plan", "plan_steps", "turn_step"]

Plan = tuple[str, ...]
"""Steps in order; the last step of a complete plan is the answer."""
WORD = re.compile(r"\w+")


def turn_step(messages: Sequence[Message], parsed: ParsedTurn) -> str:
    """Write a turn as a step that plans of several tasks can share.

        text > tool(name=place, ...)        a word of a text or an argument becomes its place:
            qI    word I of the question, from 0
            rJ.I  word I of the J-th tool message before the turn; J is 1 for the latest message, which goes first
            ?     a word that neither has; a malformed call is "?" as a whole

    Args:
        messages: before the turn; messages of the user are the question.
        parsed: the turn.

    Returns:
        The step; equal steps use the same tools on words from the same places.

    Example:
        question "41 73 for 90?", turn trains(start=41, to=73)  ->  "> trains(start=q0, to=q1)"
        then reply "t4 07-09", turn "t4" with hotels(town=73)   ->  "r1.0 > hotels(town=q1)"

    Paper: arXiv:2310.13227 (ToolChain*), plans of API calls in the long-term memory.
    Differs: the paper compares calls; here arguments are replaced by their places, since no two tasks share numbers.
    """
    places = _places(messages)
    calls = [f"{call.name}({_arguments(call.arguments, places)})" for call in parsed.calls]
    calls += ["?"] * len(parsed.errors)
    text = " ".join(places.get(word, "?") for word in WORD.findall(parsed.text))
    return " > ".join([text, *calls]).strip()


def plan_steps(trajectory: Trajectory) -> Plan:
    """Write a trajectory as a plan, a step a turn.

    Example:
        a call of find and an answer of the last reply  ->  ("> find(query=q0)", "r1.0")

    Paper: arXiv:2310.13227 (ToolChain*), plans of the long-term memory.
    Differs: see `turn_step`.
    """
    messages, steps = trajectory.messages, list[str]()
    for place, message in enumerate(messages):
        if message.role == "assistant" and len(steps) < len(trajectory.turns):
            steps.append(turn_step(messages[:place], trajectory.turns[len(steps)].parsed))
    return tuple(steps)


def _places(messages: Sequence[Message]) -> dict[str, str]:
    """Map known words to places; the question goes before replies, a later reply before an earlier reply."""
    replies = [message.content for message in messages if message.role == "tool"]
    places: dict[str, str] = {}
    for number, reply in enumerate(reversed(replies), 1):
        for place, word in enumerate(WORD.findall(reply)):
            places.setdefault(word, f"r{number}.{place}")
    question = " ".join(message.content for message in messages if message.role == "user")
    asked: dict[str, str] = {}
    for number, word in enumerate(WORD.findall(question)):
        asked.setdefault(word, f"q{number}")
    return places | asked


def _arguments(arguments: Mapping[str, Any], places: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={_place(value, places)}" for name, value in _flat("", arguments))


def _place(value: Any, places: Mapping[str, str]) -> str:
    return " ".join(places.get(word, "?") for word in WORD.findall(str(value)))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Leaves of nested arguments with dotted names, in order of the names."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _flat(f"{name}.{key}" if name else str(key), value[key])
    else:
        yield name, value
