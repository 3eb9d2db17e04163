"""An environment around another one, which does what that one does unless told otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handaxe.core.protocols import Env, OnAuxReply
from handaxe.core.records import Message, ParsedTurn, ToolSchema
from handaxe.core.requests import EnvReply
from handaxe.tools.deadline import Threads

__all__ = ["AsyncWrapped", "Wrapped"]


class Wrapped:
    """Implements `slots.Env` by asking another environment. A subclass says what it changes.

    It hears other engines (`slots.Hears`) where the inner one does. A subclass that changes what a turn or a reply is
    says so in `told` and `said`, once for all ways in which turns come.

    Args:
        env: the inner one; closed with this.
    """

    def __init__(self, env: Env):
        self.env = env
        if isinstance(env, OnAuxReply):
            self.heard = self._heard

    def told(self, turn: ParsedTurn) -> ParsedTurn:
        """The turn as the inner one is told of it."""
        return turn

    def said(self, reply: EnvReply) -> EnvReply:
        """The reply as it is handed on."""
        return reply

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        return self.env.start()

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return self.said(self.env.step(self.told(turn), seed=seed))

    def report(self) -> Mapping[str, Any]:
        return self.env.report()

    def snapshot(self) -> Any:
        return self.env.snapshot()

    def restore(self, state: Any) -> None:
        self.env.restore(state)

    def close(self) -> None:
        self.env.close()

    def _heard(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        assert isinstance(self.env, OnAuxReply)
        return self.said(self.env.heard(turn, seed=seed))


class AsyncWrapped(Wrapped):
    """Implements `slots.AsyncEnv` besides: around an environment that cannot wait without a thread, in one."""

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        inner, told = getattr(self.env, "astep", None), self.told(turn)
        if inner is not None:
            return self.said(await inner(told, seed=seed, threads=threads))
        return self.said(await threads.run(lambda: self.env.step(told, seed=seed), seconds=None))
