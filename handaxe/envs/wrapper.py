"""Base classes of environment wrappers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handaxe.core.protocols import Env, OnAuxReply, OnOpen
from handaxe.core.records import Message, ParsedTurn, ToolSchema
from handaxe.core.requests import AuxChat, EnvReply
from handaxe.tools.deadline import Threads

__all__ = ["AsyncEnvWrapper", "EnvWrapper"]


class EnvWrapper:
    """Environment wrapper that forwards everything; a subclass changes turns or replies.

    Implements `core.protocols.Env`, and `core.protocols.OnAuxReply` and `OnOpen` if the inner environment does. A
    subclass overrides `transform_turn` and `transform_reply`, which apply to `step`, `astep` and auxiliary replies
    alike.

    Args:
        env: inner environment; closed with the wrapper.
    """

    def __init__(self, env: Env):
        self.env = env
        if isinstance(env, OnAuxReply):
            self.on_aux_reply = self._on_aux_reply
        if isinstance(env, OnOpen) and not isinstance(self, OnOpen):
            self.on_open = self._on_open

    def transform_turn(self, turn: ParsedTurn) -> ParsedTurn:
        """Return the turn that the inner environment receives."""
        return turn

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        """Return the reply that the rollout receives."""
        return reply

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        return self.env.start()

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return self.transform_reply(self.env.step(self.transform_turn(turn), seed=seed))

    def report(self) -> Mapping[str, Any]:
        return self.env.report()

    def snapshot(self) -> Any:
        return self.env.snapshot()

    def restore(self, state: Any) -> None:
        self.env.restore(state)

    def close(self) -> None:
        self.env.close()

    def _on_aux_reply(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        assert isinstance(self.env, OnAuxReply)
        return self.transform_reply(self.env.on_aux_reply(turn, seed=seed))

    def _on_open(self, *, aux_policies: Mapping[str, AuxChat], max_turns: int) -> None:
        assert isinstance(self.env, OnOpen)
        self.env.on_open(aux_policies=aux_policies, max_turns=max_turns)


class AsyncEnvWrapper(EnvWrapper):
    """Environment wrapper with `astep` (`core.protocols.AsyncEnv`): an inner environment without `astep` runs in a
    thread."""

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        astep, changed = getattr(self.env, "astep", None), self.transform_turn(turn)
        if astep is not None:
            return self.transform_reply(await astep(changed, seed=seed, threads=threads))
        return self.transform_reply(await threads.run(lambda: self.env.step(changed, seed=seed), seconds=None))
