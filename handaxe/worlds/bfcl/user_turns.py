"""The environment of the multi-turn tasks: a user who says the next thing when the policy makes no further call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import Failed
from handaxe.core.records import Ending, Message, ParsedTurn, Task, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.envs.tool_chat import tool_chat
from handaxe.tools.deadline import Threads
from handaxe.worlds.bfcl.simulators import Simulators, simulator_schemas

__all__ = ["UserTurns"]

MOST_STEPS = 20
"""Turns of the policy within one of the user's; BFCL gives up after so many."""
ADDED = "I have updated some more functions you can choose from. What about now?"


class UserTurns:
    """Implements `slots.Env`, and `astep` besides.

    When the policy ends a turn of the user's, what it did is compared with what the answer's calls do on simulators of
    their own; the user goes on whatever comes of that. With T turns of the user and S_t, G_t the simulators after turn
    t, of the policy and of the answer:

        right_t = the answer has no call in turn t, or
                  the policy called something in turn t, and S_t = G_t in every public attribute, and the texts that
                  the answer's calls of turn t returned are, as a multiset, among all that the policy was returned
        valid = the policy ended turn T, and every right_t
        progress = share of turns with right_t among those in which the answer has a call

    Functions that are held back at first are told of by the user, as JSON in a message: the tools of an attempt are
    fixed when it begins. A policy that guesses one before may call it, as in BFCL, where one answer does.

    Args:
        task: of the category's metadata; see `worlds.bfcl.world`.
        tools: further ones, as of `tool_chat`.
    """

    def __init__(self, task: Task, tools: Sequence[Any] = ()):
        schemas = simulator_schemas(task)
        held = {name for names in task.metadata["held_back"].values() for name in names}
        self._schemas = {one.name: one for one in schemas if one.name in held}
        self._mine = self._gold = Simulators.of(task)

        def make() -> Any:
            self._mine = Simulators.of(task)
            return self._mine.tools(schemas)

        self._task = task
        self._chat: Any = tool_chat([make, *tools])(task)
        self._right: list[bool] = []
        self._steps, self._called = 0, False

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        """The user's first turn, and the functions that are not held back."""
        messages, tools = self._chat.start()
        return messages, tuple(tool for tool in tools if tool.name not in self._schemas)

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Carry the calls out; a turn without one ends the user's."""
        if not turn.calls and not turn.errors:
            return self._next()
        return self._after(turn, self._chat.step(turn, seed=seed))

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        """As `step`."""
        if not turn.calls and not turn.errors:
            return self._next()
        return self._after(turn, await self._chat.astep(turn, seed=seed, threads=threads))

    def report(self) -> Mapping[str, Any]:
        """What tool_chat reports, and "turns" (right or not, of those that were ended), "progress", "valid" and
        "equal": by attribute of the simulators whether it ended as all calls of the answer leave it."""
        judged = {"turns": list(self._right), "progress": self._progress(), "valid": self._valid()}
        return {**self._chat.report(), **judged, "equal": self._equal()}

    def snapshot(self) -> Any:
        """The state of everything, the comparison's included."""
        counts = (tuple(self._right), self._steps, self._called)
        return self._chat.snapshot(), self._gold.snapshot(), counts

    def restore(self, state: Any) -> None:
        """Go back to a snapshot."""
        chat, gold, (right, self._steps, self._called) = state
        self._chat.restore(chat)
        self._gold.restore(gold)
        self._right = list(right)

    def close(self) -> None:
        """Close the tools."""
        self._chat.close()

    def _after(self, turn: ParsedTurn, reply: EnvReply) -> EnvReply:
        self._steps += 1
        self._called |= bool(turn.calls)
        if self._steps > MOST_STEPS and not reply.done:
            reply = reply._replace(done=True, ending=Ending("truncated", "turns"))
        return reply._replace(facts=self._facts())

    def _next(self) -> EnvReply:
        """Judge the turn of the user's that is over, and say the next thing."""
        self._right.append(self._judged(self._task.metadata["gold"][len(self._right)]))
        self._steps, self._called = 0, False
        done = len(self._right) == len(self._task.metadata["gold"])
        messages = () if done else self._said(len(self._right))
        return EnvReply(messages, done=done, facts=self._facts())

    def _judged(self, calls: Sequence[Mapping[str, Any]]) -> bool:
        before = len(self._gold.results)
        for one in calls:
            _quietly(self._gold, one)
        if not calls:
            return True
        missing = Counter(self._gold.results[before:]) - Counter(self._mine.results)
        return self._called and not missing and self._mine.like(self._gold)

    def _said(self, number: int) -> tuple[Message, ...]:
        names = self._task.metadata["held_back"].get(str(number), ())
        told = tuple(Message("user", text) for text in self._task.metadata["later"][number - 1])
        if not names:
            return told
        added = [_described(self._schemas[name]) for name in names]
        return (Message("user", f"{json.dumps(added)}\n{ADDED}"), *told)

    def _facts(self) -> dict[str, Any]:
        return {"user_turn": len(self._right), "called": self._called, "progress": self._progress()}

    def _progress(self) -> float:
        counted = [bool(calls) for calls in self._task.metadata["gold"]]
        return sum(a and b for a, b in zip(counted, self._right)) / max(1, sum(counted))

    def _equal(self) -> dict[str, bool]:
        before = self._gold.snapshot()
        for calls in self._task.metadata["gold"][len(self._right) :]:
            for one in calls:
                _quietly(self._gold, one)
        found = self._mine.compared(self._gold)
        self._gold.restore(before)
        return found

    def _valid(self) -> bool:
        return len(self._right) == len(self._task.metadata["gold"]) and all(self._right)


def _quietly(simulators: Simulators, call: Mapping[str, Any]) -> None:
    try:
        simulators.call(call["name"], call["arguments"])
    except Failed:
        return  # it is among the results; some answers hold calls that fail


def _described(schema: ToolSchema) -> dict[str, Any]:
    return {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
