"""Base class of environments that ask auxiliary policies in the middle of a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, OnAuxReply, OnOpen
from handaxe.core.records import Ending, ParsedTurn, Task
from handaxe.core.requests import AuxChat, AuxRequest, EnvReply
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.ask_aux import NoReply
from handaxe.tools.deadline import Threads

__all__ = ["AuxWork", "AuxWorkEnv"]

AuxWork = Generator[AuxRequest | ParsedTurn, Any, EnvReply]
"""Work of a turn: yields requests, answered by the turn of an auxiliary policy, and turns, answered by the inner
environment; returns the reply to the policy."""


class AuxWorkEnv(AsyncEnvWrapper):
    """Environment wrapper with a generator as the work of a turn. Implements `Env`, `AsyncEnv`, `OnAuxReply`, `OnOpen`.

        reply of step(turn) = return value of work(turn)

    The generator yields an `AuxRequest`, which the rollout passes to the auxiliary policy, or a turn for the inner
    environment. A `NoReply` ends the rollout as infra_error: a model that fails has no score, and no rule replaces it.

    Args:
        env: inner environment, without requests of its own.
        task: of the rollout.

    Attributes:
        models: auxiliary policies of the rollout, by name.
        max_turns: turn limit of the rollout.
        seed: of the turn at work.
        asked: requests, by name of the auxiliary policy.

    Raises:
        InputError: an inner environment that asks auxiliary policies.

    Example:
        work: reply = yield turn; said = yield AuxRequest("judge", messages); return reply._replace(done=True)

    Idea: a conversation with several models reads as a sequence of statements, for step and astep alike.
    """

    def __init__(self, env: Env, task: Task):
        if isinstance(env, OnAuxReply):
            raise InputError(
                f"the environment of task {task.id!r} asks auxiliary policies itself, which {type(self).__name__} does "
                "not forward: wrap an environment of tools alone"
            )
        super().__init__(env)
        self.task = task
        self.models: Mapping[str, AuxChat] = {}
        self.max_turns = self.seed = 0
        self.asked = Counter[str]()
        self._work: AuxWork | None = None

    def work(self, turn: ParsedTurn) -> AuxWork:
        """Return the work of a turn; a subclass overrides the method."""
        return (yield turn)

    def on_open(self, *, aux_policies: Mapping[str, AuxChat], max_turns: int) -> None:
        """Receive the auxiliary policies and the turn limit."""
        if isinstance(self.env, OnOpen):
            self.env.on_open(aux_policies=aux_policies, max_turns=max_turns)
        self.models, self.max_turns = aux_policies, max_turns

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        self._work, self.seed = self._guarded(turn), seed
        return self._continued(None, seed)

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        self._work, self.seed = self._guarded(turn), seed
        found = self._next(None)
        while isinstance(found, ParsedTurn):
            found = self._next(await super().astep(found, seed=seed, threads=threads))
        return found

    def on_aux_reply(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Continue with the turn of an auxiliary policy."""
        return self._continued(turn, seed)

    def snapshot(self) -> Any:
        return super().snapshot(), self.asked.copy()

    def restore(self, state: Any) -> None:
        inner, asked = state
        super().restore(inner)
        self.asked = asked.copy()

    def _continued(self, value: Any, seed: int) -> EnvReply:
        """Continue the work of the turn up to a request or its end."""
        found = self._next(value)
        while isinstance(found, ParsedTurn):
            found = self._next(super().step(found, seed=seed))
        return found

    def _next(self, value: Any) -> EnvReply | ParsedTurn:
        """Continue the work up to a request, a turn for the inner environment, or its end."""
        assert self._work is not None
        try:
            wanted = self._work.send(value)
        except StopIteration as over:
            return over.value  # type: ignore[no-any-return]
        if isinstance(wanted, ParsedTurn):
            return wanted
        self.asked[wanted.by] += 1
        return EnvReply(aux_request=wanted)

    def _guarded(self, turn: ParsedTurn) -> AuxWork:
        try:
            return (yield from self.work(turn))
        except NoReply as failed:
            return EnvReply(done=True, ending=Ending("infra_error", str(failed)))
