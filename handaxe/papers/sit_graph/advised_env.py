"""Environment wrapper: a tool for summaries of the state, and suggestions of next tools after each reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.tools.decorator import tool

__all__ = ["ANSWER", "Adviser", "START", "SUMMARIZE", "ToolStep", "advised_env", "summarize_state"]

START, ANSWER = "start", "answer"
"""Nodes besides the tools: the begin of a conversation, and a text to the user."""
SUMMARIZE = "summarize_state"
MEMORY = "memory"
"""Name of the messages with suggestions."""
MOST_CHARS = 200


class ToolStep(NamedTuple):
    """Chosen tool, and the summary that was written right before the choice; "" without one."""

    tool: str
    summary: str = ""


Adviser = Callable[[Task, Sequence[ToolStep], str], Sequence[str]]
"""(task, steps so far, summary written since the last step or "") -> suggested next tools, best first; () for none."""


@tool(timeout=None)
def summarize_state(summary: str) -> str:
    """Write down the state, to recall similar states."""
    del summary
    return "noted"


def advised_env(env: EnvFactory, adviser: Adviser) -> EnvFactory:
    """Add suggestions of next tools to an environment that offers `summarize_state`.

    After each reply, and before the first turn, the adviser's tools follow in a message of the user named "memory",
    such as "next get_order_details". A suggestion is text: any call stays possible. A text to the user is the step
    "answer"; calls of `summarize_state` are no steps.

    Facts after each turn: "steps" ([tool, summary] each), "summary" (written since the last step), "advice" (suggested
    tools), "reply" (text of the last reply of another tool) and "made" (tools since the user's last message).

    Args:
        env: environment factory inside; its tools include `summarize_state`.
        adviser: suggests tools.

    Returns:
        An EnvFactory, bounded as `env` is.

    Example:
        a turn with summarize_state("pending, no longer needed") and an adviser that returns ["cancel_pending_order"]
        ->  messages "noted" and "next cancel_pending_order"

    Paper: arXiv:2512.07287 (SIT-Graph), the summary tool and suggestions as hints.
    Unconfirmed: wording and place of the hints.
    Differs: a text to the user is a step, too.
    """
    return inherit_bound(lambda task: _AdvisedEnv(env(task), task, adviser), env)


class _AdvisedEnv(AsyncEnvWrapper):
    def __init__(self, env: Env, task: Task, adviser: Adviser):
        super().__init__(env)
        self._task, self._adviser = task, adviser
        self._turn = ParsedTurn("")
        self._steps: list[ToolStep] = []
        self._summary, self._reply = "", ""
        self._made: list[str] = []

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        messages, tools = super().start()
        return (*messages, *_hint(self._adviser(self._task, (), ""))), tools

    def transform_turn(self, turn: ParsedTurn) -> ParsedTurn:
        self._turn = turn
        return turn

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        said = self._note_steps()
        for one in reply.replies:
            self._reply = self._reply if one.name == SUMMARIZE else one.content
        advice = () if reply.done else self._adviser(self._task, tuple(self._steps), self._summary)
        facts = {
            "steps": [list(one) for one in self._steps],
            "summary": self._summary,
            "advice": list(advice),
            "reply": self._reply,
            "made": list(self._made),
        }
        self._made = [] if said else self._made
        return reply._replace(messages=(*reply.messages, *_hint(advice)), facts={**reply.facts, **facts})

    def _note_steps(self) -> bool:
        """Record the steps of the turn; returns whether the turn is a text to the user."""
        turn, said = self._turn, not (self._turn.calls or self._turn.errors)
        for name in [call.name for call in turn.calls] + [ANSWER] * said:
            if name == SUMMARIZE:
                continue
            self._steps.append(ToolStep(name, self._summary))
            self._made.append(name)
            self._summary = ""
        written = [str(call.arguments.get("summary", "")) for call in turn.calls if call.name == SUMMARIZE]
        self._summary = written[-1][:MOST_CHARS] if written else self._summary
        return said

    def snapshot(self) -> Any:
        own = (tuple(self._steps), self._summary, self._reply, tuple(self._made))
        return super().snapshot(), own

    def restore(self, state: Any) -> None:
        inner, (steps, self._summary, self._reply, made) = state
        self._steps, self._made = list(steps), list(made)
        super().restore(inner)


def _hint(advice: Sequence[str]) -> tuple[Message, ...]:
    return (Message("user", " ".join(["next", *advice]), name=MEMORY),) if advice else ()
