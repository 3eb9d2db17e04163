"""Environment of a conversation: tools keep state between questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, ParsedTurn, Task, ToolSchema
from handaxe.core.requests import EnvReply

__all__ = ["PersistentEnv", "Watch"]

Watch = Callable[[ParsedTurn, EnvReply | None], None]
"""(turn, None) before the calls of a turn are executed, (turn, reply) afterwards."""


class PersistentEnv:
    """Wraps an environment; `close` keeps the inner environment open, `release` closes it. Implements `protocols.Env`.

    Args:
        make: makes the inner environment at the first start.
        watch: callback for turns with calls.
    """

    def __init__(self, make: EnvFactory, watch: Watch | None = None):
        self._make, self._watch = make, watch
        self._task: Task | None = None
        self._env: Any = None
        self._opening: tuple[tuple[Message, ...], tuple[ToolSchema, ...]] = ((), ())

    def __call__(self, task: Task) -> PersistentEnv:
        """Return this environment for every rollout of the conversation."""
        self._task = self._task or task
        return self

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        """Start the inner environment once; later calls return the same messages and tools."""
        if self._env is None and self._task is not None:
            self._env = self._make(self._task)
            self._opening = self._env.start()
        return self._opening

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Reply of the inner environment; calls `watch`."""
        if self._watch is None or not (turn.calls or turn.errors):
            return self._env.step(turn, seed=seed)
        self._watch(turn, None)
        reply: EnvReply = self._env.step(turn, seed=seed)
        self._watch(turn, reply)
        return reply

    def report(self) -> Mapping[str, Any]:
        """Report of the inner environment."""
        return self._env.report()

    def snapshot(self) -> Any:
        """Snapshot of the inner environment."""
        return self._env.snapshot()

    def restore(self, state: Any) -> None:
        """Restore the inner environment."""
        self._env.restore(state)

    def close(self) -> None:
        """Do nothing: the next question continues in the inner environment."""

    def release(self) -> None:
        """Close the inner environment. A second call does nothing."""
        env, self._env = self._env, None
        if env is not None:
            env.close()
