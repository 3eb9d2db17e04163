"""Environment of the multi-turn tasks: a user who continues after each turn of the policy without a call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import Failed
from handaxe.core.records import Ending, Message, ParsedTurn, Task, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.envs.aux_work import AuxWork
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.with_user import UserEnv
from handaxe.worlds.bfcl.simulators import Simulators, simulator_schemas

__all__ = ["MOST_STEPS", "UserTurns"]

MOST_STEPS = 20
"""Limit of the policy's turns within a turn of the user, as in BFCL."""
ADDED = "I have updated some more functions you can choose from. What about now?"


class UserTurns(UserEnv):
    """Implements `Env` and `AsyncEnv`.

    At the end of each turn of the user, the state is compared with the state that the answer's calls produce in
    separate simulators; the user continues in any case. With T turns of the user and S_t, G_t the simulators after turn
    t, of the policy and of the answer:

        right_t = the answer has no call in turn t, or
                  the policy made a call in turn t, and S_t = G_t in every public attribute, and the texts that the
                  answer's calls of turn t returned are a sub-multiset of all texts returned to the policy
        valid = the policy ended turn T, and every right_t
        progress = share of turns with right_t among turns with a call in the answer

    The user announces functions that are held back at first, as JSON in a message: the tools of a rollout are fixed at
    its start. A policy may call such a function early, as in BFCL, where one answer does.

    Args:
        task: with the category's metadata; see `worlds.bfcl.world`.
        tools: further tools, as for `tool_chat`.
    """

    def __init__(self, task: Task, tools: Sequence[Any] = ()):
        schemas = simulator_schemas(task)
        held = {name for names in task.metadata["held_back"].values() for name in names}
        self._schemas = {one.name: one for one in schemas if one.name in held}
        self._mine = self._gold = Simulators.of(task)

        def make() -> Any:
            self._mine = Simulators.of(task)
            return self._mine.tools(schemas)

        super().__init__(tool_chat([make, *tools])(task), task)
        self._right: list[bool] = []
        self._steps, self._made = 0, 0

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        """Return the user's first turn and the available functions."""
        messages, tools = super().start()
        return messages, tuple(tool for tool in tools if tool.name not in self._schemas)

    def work(self, turn: ParsedTurn) -> AuxWork:
        """Execute the calls; a turn without a call ends the user's turn."""
        self._made += len(turn.calls)
        reply: EnvReply = yield from super().work(turn)
        return reply._replace(facts=self._facts())

    def heard(self, turn: ParsedTurn) -> AuxWork:
        """Judge the finished turn of the user, and continue by rule."""
        yield from ()
        self._right.append(self._judged(self.task.metadata["gold"][len(self._right)]))
        self._steps, self._made = 0, 0
        done = len(self._right) == len(self.task.metadata["gold"])
        return EnvReply(() if done else self._said(len(self._right)), done=done)

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        """Count a turn with calls, and end an endless turn of the user."""
        self._steps += 1
        if self._steps > MOST_STEPS and not reply.done:
            return reply._replace(done=True, ending=Ending("truncated", "turns"))
        return reply

    def report(self) -> Mapping[str, Any]:
        """Report of tool_chat, with "turns" (correctness of each finished turn), "progress", "valid" and "equal":
        attribute of the simulators -> equality with the final state of the answer.
        """
        judged = {"turns": list(self._right), "progress": self._progress(), "valid": self._valid()}
        return {**super().report(), **judged, "equal": self._equal()}

    def snapshot(self) -> Any:
        """State of everything, including the comparison."""
        counts = (tuple(self._right), self._steps, self._made)
        return super().snapshot(), self._gold.snapshot(), counts

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        inner, gold, (right, self._steps, self._made) = state
        super().restore(inner)
        self._gold.restore(gold)
        self._right = list(right)

    def _judged(self, calls: Sequence[Mapping[str, Any]]) -> bool:
        before = len(self._gold.results)
        for one in calls:
            _quietly(self._gold, one)
        if not calls:
            return True
        missing = Counter(self._gold.results[before:]) - Counter(self._mine.results)
        return bool(self._made) and not missing and self._mine.like(self._gold)

    def _said(self, number: int) -> tuple[Message, ...]:
        names = self.task.metadata["held_back"].get(str(number), ())
        told = tuple(Message("user", text) for text in self.task.metadata["later"][number - 1])
        if not names:
            return told
        added = [_described(self._schemas[name]) for name in names]
        return (Message("user", f"{json.dumps(added)}\n{ADDED}"), *told)

    def _facts(self) -> dict[str, Any]:
        """For experts: finished turns of the user, calls in the current turn, and the progress."""
        count = {"user_turn": len(self._right), "called": bool(self._made), "calls": self._made}
        return {**count, "progress": self._progress()}

    def _progress(self) -> float:
        counted = [bool(calls) for calls in self.task.metadata["gold"]]
        return sum(a and b for a, b in zip(counted, self._right)) / max(1, sum(counted))

    def _equal(self) -> dict[str, bool]:
        before = self._gold.snapshot()
        for calls in self.task.metadata["gold"][len(self._right) :]:
            for one in calls:
                _quietly(self._gold, one)
        found = self._mine.compared(self._gold)
        self._gold.restore(before)
        return found

    def _valid(self) -> bool:
        return len(self._right) == len(self.task.metadata["gold"]) and all(self._right)


def _quietly(simulators: Simulators, call: Mapping[str, Any]) -> None:
    try:
        simulators.call(call["name"], call["arguments"])
    except Failed:
        return  # the error is among the results; some answers hold failing calls


def _described(schema: ToolSchema) -> dict[str, Any]:
    return {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
