"""What a policy answers to one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handaxe.core.records import Ending, Message, Trajectory

__all__ = ["Answered", "Called", "answered_by"]


@dataclass(frozen=True)
class Called:
    """A call that the policy made, and what came back. `status` is that of the tool's reply ("ok", "retry", "failed",
    "invalid", "timeout", "infra_error"), or "not carried out"."""

    name: str
    arguments: Mapping[str, Any]
    reply: str = ""
    status: str = "not carried out"
    seconds: float = 0.0


@dataclass(frozen=True)
class Answered:
    """The answer to one question; `str` gives its text.

    answer      what the policy said in its last turn, outside calls; "" where it could not speak
    calls       the calls made for this question, in order
    ending      "completed", or why there is no more: see records.Ending
    messages    the whole conversation so far
    trajectory  the same as tokens: what the policy read and wrote, with log-probabilities
    """

    answer: str
    calls: tuple[Called, ...]
    ending: Ending
    messages: tuple[Message, ...] = field(repr=False)
    trajectory: Trajectory = field(repr=False)

    def __str__(self) -> str:
        return self.answer


def answered_by(trajectory: Trajectory, *, before: int) -> Answered:
    """What a trajectory says to its last question. `before`: turns that were there before that was asked."""
    turns = trajectory.turns[before:]
    replies = {reply.call_id: reply for turn in turns for reply in turn.replies}
    calls = list[Called]()
    for call in (call for turn in turns for call in turn.parsed.calls):
        found = replies.get(call.id)
        calls.append(
            Called(call.name, call.arguments)
            if found is None
            else Called(call.name, call.arguments, found.content, found.status, found.seconds)
        )
    answer = turns[-1].parsed.text if turns else ""
    return Answered(answer, tuple(calls), trajectory.ending, trajectory.messages, trajectory)
