"""An expert with habits: calls left out, needless calls, and calls made badly."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.records import Message, Task, ToolCall
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts

__all__ = ["guess", "lose", "with_habit"]

IDLE = ("let me see", "hm", "one moment", "I will think")
SHORT = 24
"""Most characters of a reply that is taken for the answer."""


def with_habit(expert: Expert, habit: DemonstrationNoise, *, guesses: Sequence[str], seed: int) -> Expert:
    """Make a speaker for one attempt that does as the expert does, but for its habit.

    Where the expert calls, it calls with probability `needed` and else guesses. Where the expert answers at once, it
    calls with probability `needless`, if the expert has a call to offer when it is not sure. A call is made badly with
    probability `clumsy`: a digit or word is lost, the call is never opened, the tool does not exist, or there is idle
    talk; after that it takes a short reply for the answer, or guesses.

    Args:
        expert: what is right.
        habit: shares.
        guesses: what it says where it does not know; of these one is drawn.
        seed: the same seed draws the same.
    """
    rng = random.Random(seed)
    lost = False

    def speaker(task: Task, facts: Facts) -> Message:
        nonlocal lost
        if lost:
            return Message("assistant", _careless(facts) or rng.choice(guesses))
        message = expert(task, facts)
        if not message.calls and facts["turn"] == 0 and rng.random() < habit.needless:
            message = expert(task, {**facts, "sure": False})
        elif message.calls and rng.random() >= habit.needed:
            lost = True
            return Message("assistant", rng.choice(guesses))
        if message.calls and rng.random() < habit.clumsy:
            lost = True
            return _clumsy(message.calls[0], rng)
        return message

    return speaker


def guess(answer: Any, others: Sequence[Any], rng: random.Random) -> str:
    """A wrong guess at an answer: a number of about as many digits, or the answer of another task.

    Example:
        guess("408", [], rng) may be "527", and guess("luta", ["kemi"], rng) is "kemi"
    """
    text = _first(answer)
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        whole, dot, part = text.lstrip("-").partition(".")
        digits = max(1, len(whole) + rng.choice([-1, 0, 0, 1]))
        return (
            str(rng.randrange(10 ** (digits - 1), 10**digits)) + dot + "".join(rng.choices("0123456789", k=len(part)))
        )
    return _first(rng.choice(others)) if others else "none"


def _first(answer: Any) -> str:
    return str(answer[0] if isinstance(answer, list | tuple) else answer)


def _careless(facts: Facts) -> str:
    """The last reply, where it could be an answer."""
    if facts["statuses"] and facts["statuses"][-1] == "ok" and len(facts["replies"][-1]) <= SHORT:
        return facts["replies"][-1]
    return ""


def _clumsy(call: ToolCall, rng: random.Random) -> Message:
    """A turn that goes wrong in one of four ways."""
    kind = rng.choice(("lost", "lost", "open", "no such tool", "idle"))
    if kind == "idle":
        return Message("assistant", rng.choice(IDLE))
    if kind == "no such tool":
        return Message("assistant", "", (ToolCall(call.name[:-1] or "tool", call.arguments),))
    changed = lose(call.arguments, rng) if kind == "lost" else None
    if changed is None:
        values = [value if isinstance(value, str) else json.dumps(value) for value in call.arguments.values()]
        return Message("assistant", " ".join([call.name, *values]))
    return Message("assistant", "", (ToolCall(call.name, changed),))


def lose(arguments: Mapping[str, Any], rng: random.Random) -> dict[str, Any] | None:
    """The arguments with one digit or word less; None where there is none to lose."""
    options = []
    for key, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            continue
        # A digit after a digit other than 0, so that what is left is a number.
        places = [found.start() + 1 for found in re.finditer(r"[1-9](?=\d)", str(value))]
        options += [(key, str(value)[:place] + str(value)[place + 1 :]) for place in places]
        if isinstance(value, str) and " " in value.strip() and not places:
            options += [(key, value.rsplit(" ", 1)[0])]
    if not options:
        return None
    key, text = rng.choice(options)
    kind = type(arguments[key])
    return {**arguments, key: kind(text)}
