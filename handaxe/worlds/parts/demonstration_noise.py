"""Noise in demonstrations: omitted calls, spurious calls and corrupted calls of an expert."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.records import Message, Task, ToolCall
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts

__all__ = ["corrupt_arguments", "noisy_expert", "wrong_guess"]

IDLE = ("let me see", "hm", "one moment", "I will think")
MAX_REPLY = 24
"""Character limit of a tool result that is repeated as the answer."""


def noisy_expert(expert: Expert, noise: DemonstrationNoise, *, guesses: Sequence[str], seed: int) -> Expert:
    """Wrap an expert with the deviations of `noise`, for a single demonstration.

    Where the expert calls, it calls with probability `call_rate` and guesses otherwise. Where the expert answers in the
    first turn, it calls with probability `spurious_rate`, if the unsure expert has a call. A call is corrupted with
    probability `corrupt_rate`: a missing digit or word, an unopened call, an unknown tool, or idle text. The next turn
    then answers with a short tool result or a guess.

    Args:
        expert: correct behaviour.
        noise: rates of deviations.
        guesses: wrong answers, one of which is drawn.
        seed: equal seeds give equal deviations.
    """
    rng = random.Random(seed)
    failed = False

    def speaker(task: Task, facts: Facts) -> Message:
        nonlocal failed
        if failed:
            return Message("assistant", _repeated_reply(facts) or rng.choice(guesses))
        message = expert(task, facts)
        if not message.calls and facts["turn"] == 0 and rng.random() < noise.spurious_rate:
            message = expert(task, {**facts, "sure": False})
        elif message.calls and rng.random() >= noise.call_rate:
            failed = True
            return Message("assistant", rng.choice(guesses))
        if message.calls and rng.random() < noise.corrupt_rate:
            failed = True
            return _corrupted(message.calls[0], rng)
        return message

    return speaker


def wrong_guess(answer: Any, others: Sequence[Any], rng: random.Random) -> str:
    """Draw a wrong guess at an answer: a number of about the same length, or the answer of another task.

    Example:
        wrong_guess("408", [], rng) may be "527", and wrong_guess("luta", ["kemi"], rng) is "kemi"
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


def _repeated_reply(facts: Facts) -> str:
    """The last tool result if it is short enough for an answer, or else ""."""
    if facts["statuses"] and facts["statuses"][-1] == "ok" and len(facts["replies"][-1]) <= MAX_REPLY:
        return facts["replies"][-1]
    return ""


def _corrupted(call: ToolCall, rng: random.Random) -> Message:
    """A failing turn in place of a call."""
    kind = rng.choice(("lost", "lost", "open", "no such tool", "idle"))
    if kind == "idle":
        return Message("assistant", rng.choice(IDLE))
    if kind == "no such tool":
        return Message("assistant", "", (ToolCall(call.name[:-1] or "tool", call.arguments),))
    changed = corrupt_arguments(call.arguments, rng) if kind == "lost" else None
    if changed is None:
        values = [value if isinstance(value, str) else json.dumps(value) for value in call.arguments.values()]
        return Message("assistant", " ".join([call.name, *values]))
    return Message("assistant", "", (ToolCall(call.name, changed),))


def corrupt_arguments(arguments: Mapping[str, Any], rng: random.Random) -> dict[str, Any] | None:
    """Remove a digit or word from the arguments. Return None without digits and words to remove."""
    options = []
    for key, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            continue
        # Only digits after a digit other than 0: the rest must be a number.
        places = [found.start() + 1 for found in re.finditer(r"[1-9](?=\d)", str(value))]
        options += [(key, str(value)[:place] + str(value)[place + 1 :]) for place in places]
        if isinstance(value, str) and " " in value.strip() and not places:
            options += [(key, value.rsplit(" ", 1)[0])]
    if not options:
        return None
    key, text = rng.choice(options)
    kind = type(arguments[key])
    return {**arguments, key: kind(text)}
