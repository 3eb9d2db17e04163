"""An environment that outlives an attempt, so that the tools of a conversation keep their state between questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolSchema
from handaxe.core.requests import EnvReply

__all__ = ["KeptEnv", "Watch"]

Watch = Callable[[ParsedTurn, EnvReply | None], None]
"""Called with a turn before it is answered, and with the answer afterwards."""


class KeptEnv:
    """Implements `slots.Env`; `close` leaves the one inside open, which `release` closes.

    Args:
        make: makes the one inside, when it is first started.
        watch: is told of turns that make calls.
    """

    def __init__(self, make: EnvFactory, watch: Watch | None = None):
        self._make, self._watch = make, watch
        self._task: Task | None = None
        self._env: Any = None
        self._opening: tuple[tuple[Message, ...], tuple[ToolSchema, ...]] = ((), ())

    def __call__(self, task: Task) -> KeptEnv:
        """The factory of itself, for every attempt of the conversation."""
        self._task = self._task or task
        return self

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        """What the one inside says when it is started, which happens once."""
        if self._env is None and self._task is not None:
            self._env = self._make(self._task)
            self._opening = self._env.start()
        return self._opening

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Its answer; it is watched."""
        if self._watch is None or not (turn.calls or turn.errors):
            return self._env.step(turn, seed=seed)
        self._watch(turn, None)
        reply: EnvReply = self._env.step(turn, seed=seed)
        self._watch(turn, reply)
        return reply

    def report(self) -> Mapping[str, Any]:
        """Its report."""
        return self._env.report()

    def snapshot(self) -> Any:
        """Its snapshot."""
        return self._env.snapshot()

    def restore(self, state: Any) -> None:
        """Restore it."""
        self._env.restore(state)

    def close(self) -> None:
        """Nothing: the next question goes on in it."""

    def release(self) -> None:
        """Close the one inside. Called twice, it does nothing."""
        env, self._env = self._env, None
        if env is not None:
            env.close()
