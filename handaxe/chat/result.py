"""Answer of a policy to a question, with tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handaxe.core.records import Ending, Message, Trajectory

__all__ = ["CallResult", "ChatAnswer", "last_answer"]


@dataclass(frozen=True)
class CallResult:
    """A tool call and the tool's reply.

    `status`: of the reply ("ok", "retry", "failed", "invalid", "timeout", "infra_error"), or "not executed".
    """

    name: str
    arguments: Mapping[str, Any]
    reply: str = ""
    status: str = "not executed"
    seconds: float = 0.0


@dataclass(frozen=True)
class ChatAnswer:
    """Answer to a question; `str` gives the text.

    answer      text of the last turn, without calls; "" if the policy had no turn
    calls       tool calls for this question, in order
    ending      "completed", or the reason for an early end: see records.Ending
    messages    the whole conversation so far
    trajectory  the conversation as tokens, with log-probs
    """

    answer: str
    calls: tuple[CallResult, ...]
    ending: Ending
    messages: tuple[Message, ...] = field(repr=False)
    trajectory: Trajectory = field(repr=False)

    def __str__(self) -> str:
        return self.answer


def last_answer(trajectory: Trajectory, *, before: int) -> ChatAnswer:
    """Extract the answer to the last question of a trajectory. `before`: number of turns before the question."""
    turns = trajectory.turns[before:]
    replies = {reply.call_id: reply for turn in turns for reply in turn.replies}
    calls = list[CallResult]()
    for call in (call for turn in turns for call in turn.parsed.calls):
        found = replies.get(call.id)
        calls.append(
            CallResult(call.name, call.arguments)
            if found is None
            else CallResult(call.name, call.arguments, found.content, found.status, found.seconds)
        )
    answer = turns[-1].parsed.text if turns else ""
    return ChatAnswer(answer, tuple(calls), trajectory.ending, trajectory.messages, trajectory)
